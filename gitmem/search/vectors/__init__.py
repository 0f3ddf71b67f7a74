"""Search by vectors: chunks, their cache, and the ranking with them."""
