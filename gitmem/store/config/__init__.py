"""Settings files: the store's tracked one, the person's own, and the values they agreed to."""
