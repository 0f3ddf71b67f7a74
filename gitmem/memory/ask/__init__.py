"""Questions to a model, and their cost."""
