"""Project knowledge: one document a kind, derived from the project's files, history and sessions. Pure."""
