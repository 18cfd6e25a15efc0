"""Matrix products from one register-tiled microkernel."""
