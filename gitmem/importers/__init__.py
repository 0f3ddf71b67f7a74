"""Memories of older tools, read and taken over."""
