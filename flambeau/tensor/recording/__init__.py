"""Recording: an operation is checked and put down, and its results get their history."""
