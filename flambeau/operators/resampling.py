"""resampling."""
