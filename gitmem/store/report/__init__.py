"""What went wrong: the log of failures, and findings of checks."""
