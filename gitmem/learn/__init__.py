"""Learn from finished sessions, by asking a model or by cue phrases; each claim with its quotation."""
