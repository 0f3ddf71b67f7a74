"""What waits for a person, and their choice."""
