"""Three-way merges of documents, logs and trees."""
