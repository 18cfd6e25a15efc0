"""``torch.backends.openmp``: whether OpenMP runs loops in parallel."""


def is_available() -> bool:
    """Whether operators use OpenMP: no."""
    return False
