"""Differences and integrals."""
