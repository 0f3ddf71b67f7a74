"""What status and doctor look at."""
