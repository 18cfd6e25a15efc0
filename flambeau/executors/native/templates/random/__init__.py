"""Templates: random numbers, in groups and one by one."""
