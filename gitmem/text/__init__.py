"""Text, whatever it says: lines, sentences, words, tokens. Pure."""
