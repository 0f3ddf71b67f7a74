"""Three versions of a file, or of a tree, into one."""
