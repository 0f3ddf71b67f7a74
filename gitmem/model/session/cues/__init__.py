"""Sentences of an answer that are worth keeping."""
