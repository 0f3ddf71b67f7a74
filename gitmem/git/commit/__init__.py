"""Writing commits and moving the branch."""
