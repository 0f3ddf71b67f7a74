"""Questions to a model, and what they cost."""
