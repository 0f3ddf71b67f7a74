"""Search the memory, by words and by meaning."""
