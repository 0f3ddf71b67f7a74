"""The meaning of a store's files: pure functions and values, without I/O, clock or randomness."""
