"""A fact: its file, its chain, how sessions teach it."""
