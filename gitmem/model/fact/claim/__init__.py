"""What a sentence prescribes: which value for which subject, what it rejects, what it ends."""
