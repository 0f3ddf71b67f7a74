"""Log entries and the logs that hold them."""
