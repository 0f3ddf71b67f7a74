"""The units that are ranked and shown."""
