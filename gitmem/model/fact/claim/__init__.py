"""Parse a sentence into a claim: its subject, the value it prescribes, and values it rejects or ends."""
