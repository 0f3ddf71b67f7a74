"""One question to a model about each session: what of it will matter, with a quotation for every claim (spec U7)."""
