"""Rotation, weeks and months, and summaries."""
