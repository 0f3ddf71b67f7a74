"""The store's lock."""
