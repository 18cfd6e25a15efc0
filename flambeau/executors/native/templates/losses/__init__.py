"""Templates: losses of classes and of sequences of labels."""
