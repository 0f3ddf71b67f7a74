"""Memories of other tools: read, planned as new files, committed."""
