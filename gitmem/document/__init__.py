"""The meaning of a store's files: headers, entries, identifiers, paths and commit messages. Pure."""
