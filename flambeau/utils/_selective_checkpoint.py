"""Selective checkpointing: a policy says of each operator whether its results are kept or computed again.

Note: kept results. The second computation records every operator as the first did, so that backward finds
its tape; where the policy kept a result, the new tensor is handed the kept storage's node, and nothing that
was recorded for it is reachable any more: it is never computed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from ..library.aten import packet
from ..library.table import Overload
from ..tensor import Tensor, overrides
from . import _pytree as pytree


class CheckpointPolicy(enum.Enum):
    """What is to become of an operator's results. There is one memory: offloading to the CPU is keeping."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class SelectiveCheckpointContext:
    """What a policy is told beside the operator and its arguments."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


# Operators that say something about a tensor and compute nothing.
SAC_IGNORED_OPS = {
    getattr(found, variant)
    for name,
    variants in (("dim", "default"), ("size", "default"), ("stride", "default"), ("numel", "default"),
                           ("is_contiguous", "default memory_format"), ("storage_offset", "default"),
                           ("detach", "default"), ("sym_size", "default"), ("sym_stride", "default"),
                           ("sym_numel", "default"))
    if (found := packet(name)) is not None for variant in variants.split()
}
_SILENT = {"dim", "size", "stride", "numel", "is_contiguous", "storage_offset", "detach", "shape", "dtype",
           "item", "tolist", "ndimension", "is_floating_point", "is_complex", "element_size", "data_ptr"}


def _product(a: Any, b: Any) -> str:
    if b.ndim == 1:
        return "mv"
    return "bmm" if a.ndim > 2 and b.ndim > 2 else "mm"


def _linear(x: Any, weight: Any, bias: Any = None) -> str:
    return "mm" if bias is None else "addmm"


# Public functions that are other operators by PyTorch's count.
_CALLS: dict[str, Callable[..., str]] = {
    "linear": _linear,
    "matmul": _product, "__matmul__": _product, "__rmatmul__": lambda a, b: _product(b, a),
    "layer_norm": lambda *a, **k: "native_layer_norm",
    "group_norm": lambda *a, **k: "native_group_norm",
    "batch_norm": lambda *a, **k: "native_batch_norm",
    "dropout": lambda *a, **k: "native_dropout",
    "softmax": lambda *a, **k: "_softmax",
    "log_softmax": lambda *a, **k: "_log_softmax",
    "contiguous": lambda *a, **k: "clone",
    "scaled_dot_product_attention": lambda *a, **k: "_scaled_dot_product_flash_attention_for_cpu",
    **{f"conv{n}d": lambda *a, **k: "convolution" for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": lambda *a, **k: "convolution" for n in (1, 2, 3)},
}
_TENSOR_VARIANT = frozenset(("add", "sub", "mul", "div", "remainder", "eq", "ne", "lt", "le", "gt", "ge",
                             "add_", "sub_", "mul_", "div_", "pow"))
_SIGNS = {"__truediv__": "div", "__rtruediv__": "div", "__mod__": "remainder", "__invert__": "bitwise_not"}


def operator_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Overload | None:
    """The dispatcher's name of a public call; None for what computes nothing."""
    name = getattr(function, "__name__", "")
    if name in _SILENT or name.startswith("__get"):
        return None
    if name in _CALLS:
        name = _CALLS[name](*args, **kwargs)
    elif name.startswith("__"):
        bare = name.strip("_")
        name = _SIGNS.get(name) or next((n for n in (bare, bare[1:]) if packet(n) is not None), name)
    found = packet(name)
    if found is None:
        return None
    if name in _TENSOR_VARIANT:
        scalar = len(args) > 1 and not isinstance(args[1], Tensor)
        return getattr(found, "Tensor_Scalar" if scalar and name == "pow" else
                       "Scalar" if scalar else "Tensor_Tensor" if name == "pow"
                       else "Tensor")
    return found.default


class _Watching:
    """A mode that hears of every public call inside, but of none that another call makes."""

    def __enter__(self) -> _Watching:
        overrides.activate()
        overrides.modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        overrides.modes.remove(self)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = operator_of(func, args, kwargs)
        if operator is None:
            return func(*args, **kwargs)
        with overrides.DisableTorchFunction():
            return self.called(operator, func, args, kwargs)

    def called(self, operator: Overload, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator's call gives."""
        raise NotImplementedError


class _Keeping(_Watching):
    """The first computation: keeps what the policy wants kept."""

    def __init__(self, policy: Callable[..., Any], kept: dict[Overload, list[Any]]) -> None:
        self.policy, self.kept = policy, kept

    def called(self, operator: Overload, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        decision = self.policy(context, operator, *args, **kwargs)
        if isinstance(decision, bool):
            decision = CheckpointPolicy.MUST_SAVE if decision else CheckpointPolicy.PREFER_RECOMPUTE
        keep = decision not in _RECOMPUTED
        nodes = [x._storage.node for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]
        self.kept.setdefault(operator, []).append(nodes if keep else None)
        return result


class _Reusing(_Watching):
    """The second computation: takes what was kept (Note: kept results)."""

    def __init__(self, kept: dict[Overload, list[Any]]) -> None:
        self.kept = kept

    def called(self, operator: Overload, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        remaining = self.kept.get(operator)
        if not remaining:
            raise RuntimeError(f"{operator} encountered during recompute was not seen in the first forward: "
                               "the function did something else the second time")
        nodes = remaining.pop(0)
        if nodes is not None:
            made = [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]
            for x, node in zip(made, nodes):
                if x._base is None:
                    x._storage.node = node
        return result


def create_selective_checkpoint_contexts(policy_fn_or_list: Any,
                                         allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The contexts for ``checkpoint(context_fn=...)``: keep what a policy says, or what a list names.

    The policy is called with a context, the operator (``torch.ops.aten.mm.default``) and its arguments, and
    returns a ``CheckpointPolicy``.

    >>> import flambeau as torch
    >>> from functools import partial
    >>> from flambeau.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep).sum().backward()
    >>> x.grad
    tensor([[-1.6646, -1.6646],
            [-1.6646, -1.6646]])
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, (list, tuple, set)):
        policy = _policy_of(policy_fn_or_list)
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Overload, list[Any]] = {}
    return _Keeping(policy, kept), _Reusing(kept)


def _policy_of(operators: Iterable[Any]) -> Callable[..., CheckpointPolicy]:
    for operator in operators:
        if not isinstance(operator, Overload):
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {operator} of type "
                             f"{type(operator)}. ")
    wanted = set(operators)

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in wanted else CheckpointPolicy.PREFER_RECOMPUTE
    return policy
