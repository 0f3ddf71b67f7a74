"""Three versions of a store's file into one. Pure."""
