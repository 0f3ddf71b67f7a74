"""What is learned of sessions: by a question to a model, or by words; each claim with its words."""
