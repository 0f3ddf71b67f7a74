"""Checks of a store and its documents, and its state."""
