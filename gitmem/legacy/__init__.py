"""Memories of older tools, and their migration into a store."""
