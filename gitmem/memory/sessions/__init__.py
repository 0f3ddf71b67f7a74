"""Sessions from their events to memory: live, behind hooks, and recorded."""
