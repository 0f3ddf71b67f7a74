"""The viewer: look at the memory in a browser, and correct it."""
