"""Save: turn accepted events of the spool into entries and commits."""
