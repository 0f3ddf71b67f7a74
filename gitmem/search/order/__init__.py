"""The order of hits, and their snippets."""
