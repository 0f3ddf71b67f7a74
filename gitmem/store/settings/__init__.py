"""Settings: the person's, the store's, and what the person agreed to."""
