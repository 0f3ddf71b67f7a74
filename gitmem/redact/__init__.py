"""Redaction: finds secrets and private passages in a text and takes them out; pure functions, without I/O."""
