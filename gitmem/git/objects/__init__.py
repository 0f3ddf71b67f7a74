"""Objects: reading, comparing, packing, checking and removing them."""
