"""The programs gitmem remembers for: the commands they run, and the settings they are written into."""
