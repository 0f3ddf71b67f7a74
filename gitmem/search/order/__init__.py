"""The order of hits, and what a hit shows."""
