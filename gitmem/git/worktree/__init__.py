"""The working tree's files and git's index of them."""
