"""Sessions, from what hooks delivered to entries in the logs."""
