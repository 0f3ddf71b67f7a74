"""What is known of a project: one document a kind, derived from its files, its history and its sessions. Pure."""
