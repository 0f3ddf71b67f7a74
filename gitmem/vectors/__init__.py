"""Search by meaning: vectors of texts, kept and compared."""
