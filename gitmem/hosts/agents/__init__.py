"""One file an agent: its events, where it keeps settings and sessions (docs/architecture.md, "A host")."""
