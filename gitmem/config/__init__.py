"""Settings: their values, and how they are read from files."""
