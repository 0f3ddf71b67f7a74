"""Packing, checking, rewriting and removing objects."""
