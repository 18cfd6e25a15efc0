"""Recurrent layers that walk through time in one call."""
