"""``torch.backends.mkldnn``: oneDNN is not there; its switches keep what they are set to."""

from __future__ import annotations

from ._switches import setter

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"

flags = setter(globals(), ("enabled", "deterministic", "allow_tf32", "fp32_precision"))


def is_available() -> bool:
    """Whether operators call oneDNN: no."""
    return False
