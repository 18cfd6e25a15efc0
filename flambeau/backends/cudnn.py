"""``torch.backends.cudnn``: cuDNN is not there; its switches keep what they are set to."""

from __future__ import annotations

from ._switches import setter

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"

flags = setter(globals(), ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32",
                           "fp32_precision"))


def is_available() -> bool:
    """Whether cuDNN is there: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: there is none."""
    return None


def is_acceptable(tensor: object) -> bool:
    """Whether cuDNN could compute with a tensor: no."""
    return False
