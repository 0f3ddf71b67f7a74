"""The user's project, a git repository that is only read: branches, commits, lines that facts cite."""
