"""Models, embedders, and questions to a model within daily limits."""
