"""Moving elements: loops over spaces, copies and fills, reads and writes at positions that are given."""
