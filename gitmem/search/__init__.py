"""Search: one pass over the plain files for a query's words, and a ranking of the units around them; no index."""
