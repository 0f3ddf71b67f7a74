"""Starting git."""
