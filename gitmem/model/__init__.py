"""Values and pure functions, one file for each noun: fact, exchange, turn, episode, pattern and others."""
