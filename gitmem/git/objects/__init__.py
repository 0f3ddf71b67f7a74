"""Read and compare objects."""
