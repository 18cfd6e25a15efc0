"""What programs of one graph share: how it is known again, its plans for all shapes, and where values lie."""
