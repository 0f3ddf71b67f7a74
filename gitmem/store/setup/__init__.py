"""Finding and making a store, its remotes and its merge driver."""
