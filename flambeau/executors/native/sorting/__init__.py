"""How rows are put in order."""
