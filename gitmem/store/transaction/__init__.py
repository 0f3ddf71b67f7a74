"""Transactions, and recovery after a crash."""
