"""Summaries of archives: offline, by a model, or by an agent."""
