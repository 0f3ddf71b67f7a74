"""One file a provider of models or embeddings."""
