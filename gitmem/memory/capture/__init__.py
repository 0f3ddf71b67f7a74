"""Sessions, from delivered events to entries in the logs."""
