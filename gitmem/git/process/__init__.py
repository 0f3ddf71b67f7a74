"""Start git."""
