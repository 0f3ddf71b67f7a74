"""The `gitmem` command: one file a command group, each thin."""
