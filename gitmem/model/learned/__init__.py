"""What is learned from tasks: errors that come again, episodes, patterns."""
