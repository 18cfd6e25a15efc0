"""Special functions and inverse functions of expressions, and activations."""
