"""Record saves, turns, exchanges, facts and working memory as they arise."""
