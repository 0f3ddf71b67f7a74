"""Models and embedders, and a question within the limits of a day."""
