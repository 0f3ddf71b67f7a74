"""Language models and embedders: protocols, the choice of a provider, and requests over HTTP (docs/spec.md R6)."""
