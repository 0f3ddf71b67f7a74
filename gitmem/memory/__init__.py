"""Saves, turns, sessions, exchanges, facts, concepts, summaries and tiers, and the operations on them."""
