"""Cached headers of facts and concepts."""
