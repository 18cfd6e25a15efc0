"""How batches are made: collating, fetching, and the worker processes."""
