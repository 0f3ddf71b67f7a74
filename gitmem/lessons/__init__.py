"""What was learned from sessions: episodes, errors and their fixes, concepts, and what is told of them."""
