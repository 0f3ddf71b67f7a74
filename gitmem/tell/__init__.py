"""What a session, a user or a line of code is told from the memory."""
