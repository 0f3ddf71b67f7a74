"""From a host's event to entries of the memory, and from the memory to a session's start."""
