"""Exchange a memory with remotes: what is refused, the rounds, clones and backups."""
