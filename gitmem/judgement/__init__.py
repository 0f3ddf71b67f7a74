"""The one question a session is judged by, its reply, and what it may cost."""
