"""Scales given by position: ``x.addcmul_(0.5, a, b)``, ``torch.addmm(beta, x, alpha, a, b)``.

PyTorch deprecated these long ago and still takes them, and optimizers of that time still use them. A
function with such a form takes ``*older``, what stands behind its arguments: the usual call pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ...tensor.warned import warn

# As methods and as functions, by the number of arguments: s a scale, t a tensor.
_FORMS = {
    "alpha": ("tst",),
    "value": ("tstt",),
    "beta alpha": ("tsstt", "ststt", "tstt", "sttt"),
}
_told = False


def scaled(function: Callable[..., Tensor], arguments: tuple[Any, ...], names: str) -> Tensor:
    """Call a function with the scales among its arguments by their ``names``, in order."""
    for form in _FORMS[names]:
        if len(form) == len(arguments) and all(map(_fits, form, arguments)):
            break
    else:
        count = function.__code__.co_argcount
        raise TypeError(f"{function.__name__}() takes {count} positional arguments but {len(arguments)} were "
                        "given")
    _tell(function.__name__, names)
    scales = dict(zip(names.split(), (x for kind, x in zip(form, arguments) if kind == "s")))
    return function(*(x for kind, x in zip(form, arguments) if kind == "t"), **scales)


def _fits(kind: str, x: Any) -> bool:
    """Whether ``x`` is a tensor (``t``) or can be a scale (``s``), as a tensor of no dimensions can."""
    if isinstance(x, Tensor):
        return kind == "t" or (x.ndim == 0 and not x.requires_grad)
    return kind == "s" and isinstance(x, (int, float, complex))


def _tell(name: str, names: str) -> None:
    """Warn at the first such call, whichever function it is."""
    global _told
    if not _told:
        _told = True
        scales = "".join(f", {each}=" for each in names.split())
        warn(f"This overload of {name} is deprecated: give its scales by keyword, "
             f"{name}(...{scales})")
