"""Facts: learned from sessions, edited by people, adopted from agents, judged by models."""
