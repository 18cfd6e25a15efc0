"""logical."""
