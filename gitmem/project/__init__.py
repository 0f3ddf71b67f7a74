"""The person's project as its own git tells it: its state at a session's start, and the code that facts name."""
