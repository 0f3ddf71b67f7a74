"""One file an agent: its events, where it keeps settings and sessions (docs/architecture.md, "A host").

Tested through `tests/hosts/agents/test_all.py`.
"""
