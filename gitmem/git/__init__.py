"""Everything that runs git or reads what it writes."""
