"""Plans of rotation and consolidation."""
