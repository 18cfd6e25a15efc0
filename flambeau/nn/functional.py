"""``torch.nn.functional``: the functions behind the layers. They are defined in ``flambeau.operators``."""

from __future__ import annotations

from typing import Any

from ..operators import NAMESPACES
from ..operators.declaration.registry import publish_in
from ..tensor import overrides
from . import _reduction as _Reduction  # noqa: F401
from . import grad as grad
from . import linear_cross_entropy as _linear_cross_entropy  # noqa: F401  (publishes its function)
from ._masks import _canonical_mask, _none_or_dtype  # noqa: F401  (for modules like attention)
from ._projections import (  # noqa: F401
    _get_softmax_dim,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _verify_batch_size,
)

handle_torch_function = overrides.handle_torch_function

publish_in(globals(), "nn.functional")


def has_torch_function(args: Any) -> bool:
    """Whether one of the arguments overrides ``__torch_function__``."""
    return overrides.has_torch_function(args)


def has_torch_function_unary(arg: Any) -> bool:
    """Whether an argument overrides ``__torch_function__``.

    >>> import flambeau as torch
    >>> torch.nn.functional.has_torch_function_unary(torch.ones(2))
    False
    """
    return overrides.has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether one of the arguments overrides ``__torch_function__``."""
    return overrides.has_torch_function(args)


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raise unless ``arg`` is an integer or a pair."""
    is_pair = isinstance(arg, (list, tuple)) and len(arg) == 2
    assert isinstance(arg, int) or is_pair, message.format(arg_name)


__all__ = sorted(NAMESPACES["nn.functional"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau has no torch.nn.functional.{name} yet")
