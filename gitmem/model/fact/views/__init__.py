"""Lines of logs that show facts, and their marks where a fact has ended."""
