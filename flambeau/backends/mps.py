"""``torch.backends.mps``: Apple's Metal is not there."""


def is_available() -> bool:
    """Whether there is a device: no."""
    return False


def is_built() -> bool:
    """Whether Metal was built in: no."""
    return False
