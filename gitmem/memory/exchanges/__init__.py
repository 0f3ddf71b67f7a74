"""A session's exchanges, in our words or a model's."""
