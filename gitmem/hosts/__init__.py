"""The agents that gitmem remembers for: their events, settings, answers and transcripts, a file each."""
