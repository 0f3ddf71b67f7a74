"""Facts: their files, their chains, and how they are found in sessions."""
