"""Exchange a memory with remotes."""
