"""Summaries of archives."""
