"""Summarisers: one file a provider, the offline one included (spec R6)."""
