"""What memory does with a store: saving and rotation."""
