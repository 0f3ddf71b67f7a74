"""Settings files: the store's, the person's own, and what the person agreed to."""
