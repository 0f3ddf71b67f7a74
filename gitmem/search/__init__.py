"""Finding again, by words and by meaning."""
