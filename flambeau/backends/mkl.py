"""``torch.backends.mkl``: whether MKL computes matrix products."""


def is_available() -> bool:
    """Whether operators call MKL: no."""
    return False
