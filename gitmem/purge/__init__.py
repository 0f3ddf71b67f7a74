"""Remove a text from all history, here and on other machines."""
