"""Values and pure functions: what a fact, an exchange, a turn, an episode, a pattern is, a file a noun."""
