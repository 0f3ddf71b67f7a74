"""Choose and format what a session, a prompt, an error or a line of code is shown from the memory."""
