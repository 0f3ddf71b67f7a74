"""A query's words and filters."""
