"""What is learned from sessions: bug patterns, knowledge of the project."""
