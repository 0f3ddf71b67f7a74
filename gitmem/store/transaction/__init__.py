"""Transactions, fast-forwards and merges: every way in which the branch moves."""
