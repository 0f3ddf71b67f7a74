"""Fetch from and push to other repositories."""
