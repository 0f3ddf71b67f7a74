"""Recovery after a crash, and maintenance."""
