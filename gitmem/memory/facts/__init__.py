"""Facts: what sessions teach, and what a person, an agent or a model makes of it."""
