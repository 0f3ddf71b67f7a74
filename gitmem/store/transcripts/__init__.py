"""Raw transcripts of sessions."""
