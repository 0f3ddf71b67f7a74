"""Text processing: lines, sentences, keywords, tokens. Pure functions."""
