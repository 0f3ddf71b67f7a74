"""Search: one pass over the plain files for a query's words, and a ranking of what stands around them; no index."""
