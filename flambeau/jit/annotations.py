"""``torch.jit.annotations``: the names with which code written for TorchScript annotates its functions."""

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 (the names are the point)

__all__ = ["Any", "Dict", "Final", "List", "Optional", "Tuple", "Union"]
