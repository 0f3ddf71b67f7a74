"""Find a git repository, read its layout and refs, compute object ids, and move refs by compare-and-swap."""
