"""Statements that people and answers make in a session, found by their form."""
