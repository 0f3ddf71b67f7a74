"""History instead of an index."""
