"""Templates: scans, sorts and searches along a dimension."""
