"""Programs: lists of steps that any module with PyTorch's API can carry out, and what is observed of a run.

A step names an operation, two of the tensors made so far and a few small integers. What these select (a
dimension, an index, a size) is decided from the shapes at hand, so every list of steps is a program, and a
shorter list of smaller numbers is a simpler one: Hypothesis can shrink it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MOST_ELEMENTS = 96
LARGEST = 1e6
AMPLIFYING = {"float32": 1e2, "float64": LARGEST}

# Where flambeau is known to differ from PyTorch, by operation: programs go round these cases.
KNOWN_DIFFERENCES = {
    "prod": "of single elements PyTorch keeps the result for backward, which may be written; flambeau has no "
    "use for it",
    "matmul": "a vector times a matrix is squeezed in place by PyTorch and has version 1; a single row that "
    "requires gradients times a batch lies otherwise than one that does not",
    "fill_, zero_, masked_fill_, index_fill_": "PyTorch cannot differentiate what it filled when expanded",
    "detach_": "PyTorch does not differentiate through a saved tensor that was detached in place",
    "transpose_, unsqueeze_": "of the gradients of what got another shape unrecorded PyTorch refuses some, "
    "by the shape that it had at its first use",
    "set_rows": "PyTorch cannot differentiate what it wrote to rows of expanded tensors",
    "copy_, set_slice, set_rows": "what is copied from memory that is written meanwhile has no order",
    "set_slice": "PyTorch lets integers require gradients that are filled with one number that does",
    "any in-place write": "PyTorch refuses a view whose base got history since, unless it was looked at",
    "copy_": "PyTorch writes no tensor to itself, so that an expanded one may be",
    "any": "of a view that is unusable and other mistakes, which one is named",
    "as_strided": "the gradient of what was written through a view whose elements overlap",
}


@dataclass(frozen=True)
class Step:
    """One step: the operation, the operands (from the newest), small integers, under no_grad or not."""

    op: str
    x: int = 0
    y: int = 0
    n: tuple[int, int, int] = (0, 0, 0)
    no_grad: bool = False


@dataclass(frozen=True)
class Leaf:
    """A tensor that a program starts with."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    seed: int


@dataclass(frozen=True)
class Program:
    """The leaves, then the steps."""

    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]


Operation = Callable[[Any, Any, Any, tuple[int, int, int]], Any]
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    """Register an operation ``(module, x, y, n) -> tensor, tuple of tensors or None`` under its name."""
    OPERATIONS[function.__name__] = function
    return function


@dataclass
class Observed:
    """What a run showed: after each step what needs no value, at the end every value and gradient."""

    steps: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)


def run(module: Any, program: Program) -> Observed:
    """Carry out a program with a module; exceptions are observations too."""
    observed = Observed()
    tensors = [make_leaf(module, leaf) for leaf in program.leaves]
    for step in program.steps:
        observed.steps.append(take_step(module, tensors, step))
    observed.steps.append(finish(tensors))
    for tensor in usable(tensors):
        observed.values.append([facts(tensor), numbers(tensor)])
        observed.gradients.append(gradient(tensor))
    return observed


def take_step(module: Any, tensors: list[Any], step: Step) -> Any:
    """Carry out one step; new tensors are appended. Returns what can be seen without looking at a value."""
    x, y = tensors[-1 - step.x % len(tensors)], tensors[-1 - step.y % len(tensors)]
    before = facts(x)   # KNOWN_DIFFERENCES["any in-place write"]
    if writes(step.op) and before != ["unusable"] and overlaps(x):
        return [step.op, "overlapping"]  # what is written twice has no order
    try:
        with module.no_grad() if step.no_grad else contextlib.nullcontext():
            made = OPERATIONS[step.op](module, x, y, step.n)
    except Exception as error:
        refuse_to_follow(error)
        if step.op in ("backward", "grad", "second_order"):
            forget_gradients(tensors)
        name = "refused" if ["unusable"] in (before, facts(y)) else type(error).__name__
        return [step.op, name, facts(x)]    # KNOWN_DIFFERENCES["any"]
    fresh = [made] if isinstance(made, module.Tensor) else list(made or ())
    seen = [step.op, facts(x)]
    for tensor in fresh:
        if isinstance(tensor, module.Tensor):
            seen.append(facts(tensor))
            if tensor.numel() <= MOST_ELEMENTS and not tensor.is_complex():
                tensors.append(tensor)
        else:
            seen.append(plain(tensor))
    return seen


def writes(operation: str) -> bool:
    """Whether an operation writes elements in place."""
    return operation.startswith(("set_", "write_")) or (
        operation.endswith("_") and operation not in ("detach_", "transpose_", "unsqueeze_"))


def overlaps(tensor: Any) -> bool:
    """Whether elements of a tensor share memory in another way than by a stride of 0, which is refused."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1 and stride:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def finish(tensors: list[Any]) -> Any:
    """Differentiate the sum of everything that can be, so that every program looks at its gradients."""
    differentiable = [tensor for tensor in usable(tensors) if tensor.requires_grad]
    try:
        sum(tensor.double().sum() for tensor in differentiable).backward()  # type: ignore[union-attr]
    except Exception as error:
        refuse_to_follow(error)
        forget_gradients(tensors)
        return ["finish", type(error).__name__]
    return ["finish", len(differentiable)]


def forget_gradients(tensors: list[Any]) -> None:
    """Drop what a backward pass may have accumulated before it failed: its order is not specified."""
    for tensor in usable(tensors):
        if tensor.is_leaf or tensor.retains_grad:
            tensor.grad = None


class NotFollowed(Exception):
    """PyTorch refuses a program in a way that is not its specification."""


_NOT_FOLLOWED = (
    "INTERNAL ASSERT FAILED",
    "a saved tensor that has been detached in-place",
    "leaf variable has been moved into the graph interior",
)


def refuse_to_follow(error: Exception) -> None:
    """Raise NotFollowed of errors that name a defect of PyTorch, or KNOWN_DIFFERENCES["detach_"]."""
    if any(text in str(error) for text in _NOT_FOLLOWED):
        raise NotFollowed from error


def usable(tensors: list[Any]) -> list[Any]:
    """Leave out the tensors that tell nothing any more."""
    return [tensor for tensor in tensors if facts(tensor) != ["unusable"]]


def make_leaf(module: Any, leaf: Leaf) -> Any:
    """Create a leaf from its description: quarters, so that sums and products are exact for a while."""
    count = math.prod(leaf.shape)
    numbers = [((7 * i + 5 * leaf.seed) % 13 - 6) / 4 for i in range(count)]
    if leaf.dtype in ("int64", "int32"):
        numbers = [int(4 * number) for number in numbers]
    if leaf.dtype == "bool":
        numbers = [number > 0 for number in numbers]
    tensor = module.tensor(numbers, dtype=getattr(module, leaf.dtype)).reshape(leaf.shape).clone()
    return tensor.requires_grad_() if leaf.requires_grad and leaf.dtype.startswith("float") else tensor


def facts(tensor: Any) -> list[Any]:
    """Return what a tensor tells without its values being computed."""
    try:
        seen = [str(tensor.dtype).rsplit(".", 1)[-1], list(tensor.shape), list(tensor.stride())]
        return [*seen, tensor.storage_offset(), tensor.requires_grad, tensor.is_leaf, tensor._version]
    except RuntimeError:  # one of several views made at once, after its base was written
        return ["unusable"]


def numbers(tensor: Any) -> list[Any]:
    """Return the values, flat."""
    return tensor.detach().reshape(-1).tolist()


def gradient(tensor: Any) -> Any:
    """Return the gradient's facts (not its strides, which are the engine's affair) and values, or None."""
    if not (tensor.is_leaf or tensor.retains_grad) or tensor.grad is None:
        return None
    return [str(tensor.grad.dtype).rsplit(".", 1)[-1], list(tensor.grad.shape), numbers(tensor.grad)]


def plain(value: Any) -> Any:
    """Return a Python value as JSON would."""
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def agree(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
    """Compare observations: everything exactly, floating-point values within tolerances.

    Beyond ``LARGEST`` the programs have amplified rounding errors past what tells anything.
    """
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(agree(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) == math.isnan(b)
        if abs(a) > LARGEST and abs(b) > LARGEST:
            return (a > 0) == (b > 0)
        return abs(a - b) <= atol + rtol * max(abs(a), abs(b))
    return type(a) is type(b) and a == b


def amplifies(facts_seen: list[Any], numbers_seen: list[Any]) -> bool:
    """Whether a rounding error in one of these numbers may become a large one."""
    limit = AMPLIFYING.get(facts_seen[0])
    return limit is not None and any(abs(number) > limit for number in numbers_seen)


def difference(a: Observed, b: Observed, rtol: float = 1e-5) -> str:
    """Name the first observation that two runs do not share; an empty string if they agree.

    Of what comes after a large value (its sine, its remainder) values are not compared.
    """
    amplified = False
    for what in ("steps", "values", "gradients"):
        left, right = getattr(a, what), getattr(b, what)
        for index, (one, other) in enumerate(zip(left, right)):
            if what != "steps" and amplified and one is not None and other is not None:
                one, other = one[:-1], other[:-1]
            elif what == "values":
                amplified = amplifies(*other)
            if not agree(one, other, rtol, rtol / 10):
                return f"{what}[{index}]:\n  {one}\n  {other}"
        if len(left) != len(right):
            return f"{len(left)} {what} against {len(right)}"
    return ""
