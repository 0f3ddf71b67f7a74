"""What each page shows, as values: its template and its JSON twin are made of the same."""
