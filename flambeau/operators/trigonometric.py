"""trigonometric."""
