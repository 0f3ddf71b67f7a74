"""The working memory of running sessions."""
