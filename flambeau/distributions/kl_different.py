"""Kullback-Leibler divergences of distributions of different kinds: -H(p) - E[log q] under p."""
