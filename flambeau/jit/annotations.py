"""``torch.jit.annotations``: the names that code written for TorchScript imports to annotate its functions."""

from typing import Any, Dict, Final, List, Optional, Tuple, Union

__all__ = ["Any", "Dict", "Final", "List", "Optional", "Tuple", "Union"]
