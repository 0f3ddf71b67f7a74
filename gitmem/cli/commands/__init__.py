"""The commands, a file a noun."""
