"""One pass over the files: ripgrep's bindings, rg, or re."""
