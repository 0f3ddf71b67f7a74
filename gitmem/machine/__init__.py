"""What the machine gives: files beneath a folder, programs, time."""
