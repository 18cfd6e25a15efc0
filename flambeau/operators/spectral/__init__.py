"""Fourier transforms, short-time ones, and their windows."""

from . import frequencies, short_time, spectral, windows
