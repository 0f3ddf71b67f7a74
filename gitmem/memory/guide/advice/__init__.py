"""The lines of guidance, and what they are made of: episodes, and what is known of the project."""
