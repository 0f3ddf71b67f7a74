"""Summaries of archives and of exchanges without a model. Pure."""
