"""Units: the parts of files that are ranked and shown."""
