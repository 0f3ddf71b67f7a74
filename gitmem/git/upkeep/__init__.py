"""Pack, check, rewrite and remove objects."""
