"""Remove a text from the memory and from all history, here and on the person's other machines."""
