"""Log entries, and the logs they stand in."""
