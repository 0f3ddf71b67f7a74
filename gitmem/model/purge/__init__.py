"""Finding and removing purged texts. Pure."""
