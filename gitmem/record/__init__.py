"""Keep what the user and the agent said and did, at once: saves, turns, exchanges, facts, working memory."""
