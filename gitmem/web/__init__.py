"""A viewer in the browser: what the memory holds, and the acts by which a person corrects it."""
