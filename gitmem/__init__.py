"""gitmem: a memory for coding agents that lives in git.

Importing the package loads nothing beyond the standard library; the rooms are described in docs/architecture.md.
"""

__version__ = "0.1.0"
