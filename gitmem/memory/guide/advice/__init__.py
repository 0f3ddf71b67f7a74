"""The lines of guidance, from episodes and from project knowledge."""
