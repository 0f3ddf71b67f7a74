"""Events accepted and not yet committed."""
