"""Tell an agent memories at the moment of need: at a prompt, at an error, at a task's start."""
