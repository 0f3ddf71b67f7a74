"""Redaction: remove secrets and private passages from a text; pure functions, without I/O."""
