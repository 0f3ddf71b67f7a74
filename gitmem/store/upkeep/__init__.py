"""Recovery after a crash, packing, background commands and the failure log."""
