"""Memory on git: the store, its transactions, its spool and its history."""
