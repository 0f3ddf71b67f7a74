"""Facts: learning, editing, comparing and telling them."""
