"""Native functions that make a batch of samples: they are called by themselves, and no program has them."""
