"""``opcheck``: whether an operator keeps what its schema, its shape function and its gradient promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..tensor import Tensor
from ..utils import _pytree as pytree
from .custom_ops import CustomOpDef
from .table import Overload, Packet

DEFAULT_TEST_UTILS = ("test_schema", "test_autograd_registration", "test_faketensor",
                      "test_aot_dispatch_dynamic")
_KNOWN = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static",
          "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """An operator failed one of the checks."""


class MetadataMismatchError(RuntimeError):
    """The shape function promises another result than the kernel gives."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __repr__(self) -> str:
        return f"MetadataMismatchError(reason={self.reason!r})"


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
            test_utils: str | Sequence[str] = DEFAULT_TEST_UTILS, raise_exception: bool = True,
            atol: float | None = None, rtol: float | None = None) -> dict[str, Any]:
    """Call an operator with sample inputs in several ways, and say for each check whether it holds.

    >>> import flambeau as torch
    >>> torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    if isinstance(op, (CustomOpDef, Packet)):
        op = op.default
    if not isinstance(op, Overload):
        raise ValueError("opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
                         f"torch.ops.aten.sin.default, got {type(op)}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(_KNOWN):
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of "
                         f"{_KNOWN} but it was not")
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](op, args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                                   ) from error
            results[name] = error
    return results


def _copied(tree: Any) -> Any:
    def copied(x: Tensor) -> Tensor:
        return x.detach().clone().requires_grad_(x.requires_grad)
    return pytree.tree_map_only(Tensor, copied, tree)


def _schema_holds(op: Any, args: Any, kwargs: Any) -> None:
    """No argument is written but those that the schema names."""
    given, named = pytree.tree_map_only(Tensor, lambda x: x.detach().clone(), (args, kwargs))
    before = _copied((given, named))
    op(*given, **named)
    schema = getattr(op, "_schema", None)
    if schema is None:
        return
    places = [a for a in schema.arguments if not a.kwarg_only]
    written = {a.name for a in schema.arguments if a.is_write}
    for name, now, then in [*((a.name, x, y) for a, x, y in zip(places, given, before[0])),
                            *((key, x, before[1][key]) for key, x in named.items())]:
        changed = any(not x.equal(y) for x, y in zip(pytree.tree_leaves(now), pytree.tree_leaves(then))
                      if isinstance(x, Tensor))
        if changed and name not in written:
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def _gradient_is_registered(op: Any, args: Any, kwargs: Any) -> None:
    """Results of inputs that want a gradient are connected to them, or declared not to be."""
    leaves = pytree.tree_leaves((args, kwargs))
    if not any(isinstance(x, Tensor) and x.requires_grad for x in leaves):
        return
    given, named = _copied((args, kwargs))
    with enable_grad():
        op(*given, **named)


def _shapes_agree(op: Any, args: Any, kwargs: Any) -> None:
    """On the meta device an operator gives the shapes and dtypes that it gives on this one."""
    def to_meta(x: Tensor) -> Tensor:
        return x.detach().to("meta")
    given, named = _copied((args, kwargs))
    real = pytree.tree_leaves(op(*given, **named))
    fake_args, fake_kwargs = pytree.tree_map_only(Tensor, to_meta, (args, kwargs))
    fake = pytree.tree_leaves(op(*fake_args, **fake_kwargs))
    start = (f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched tensor "
             "metadata: ")
    for ours, theirs in zip(real, fake):
        if not isinstance(ours, Tensor):
            continue
        if ours.shape != theirs.shape:
            raise MetadataMismatchError(f"{start}Shapes {ours.shape} and {theirs.shape} are not equal!")
        if ours.dtype is not theirs.dtype:
            raise MetadataMismatchError(f"{start}Dtypes {ours.dtype} and {theirs.dtype} are not equal!")


def _runs_without_values(op: Any, args: Any, kwargs: Any) -> None:
    """The operator has a shape function: what compiling it would need."""
    fake_args, fake_kwargs = pytree.tree_map_only(Tensor, lambda x: x.detach().to("meta"), (args, kwargs))
    op(*fake_args, **fake_kwargs)


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _schema_holds,
    "test_autograd_registration": _gradient_is_registered,
    "test_faketensor": _shapes_agree,
    "test_aot_dispatch_static": _runs_without_values,
    "test_aot_dispatch_dynamic": _runs_without_values,
}
