"""What processes of such a launcher tell it."""
