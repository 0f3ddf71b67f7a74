"""Documents and purges that wait for a person's decision."""
