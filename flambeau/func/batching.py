"""What operators do with batched tensors (Note: batching, in ``tensor/batching.py``).

``record_batched`` takes the operands of the innermost level apart and asks, in this order: the pointwise
rule, the rule of the operator (``batching_rules``), and the loop over the examples, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import operators as ops
from ..graph.geometry import Geometry, contiguous, intern
from ..graph.operator import Operator
from ..layouts import contiguous_format
from ..operators.creation.creation import filled
from ..operators.declaration.definition import result_dtype
from ..tensor import Tensor, record, view, view_operator
from ..tensor.aliasing.inplace import assign, write
from ..tensor.batching import BatchedTensor, Level, batched, levels, plain, rules
from ..tensor.generator import default_generator

# name of an operator -> rule(call) -> the results with the batch in front, or None where it does not apply
RULES: dict[str, Callable[[Call], Any]] = {}


def strip(x: Any, level: int) -> tuple[Any, bool]:
    """What x is to the level: its tensor with the batch in front and True, or x itself and False."""
    if x.__class__ is not BatchedTensor or x.level < level:
        return x, False
    if x.level == level:
        return x.physical, True
    inner, found = strip(x.physical, level)
    return (batched(inner.transpose(0, 1), x.level), True) if found else (x, False)


def front(x: Tensor, level: int) -> Tensor:
    """x with the batch of the level in front, repeated where it has none."""
    inner, found = strip(x, level)
    if found:
        return inner
    return x.expand(levels[level - 1].size, *x.shape)


def labelled(x: Tensor, level: int) -> Any:
    """x, whose first dimension is the batch of the level, as a batched tensor; x may be of inner levels."""
    if x.__class__ is BatchedTensor and x.level > level:
        return batched(labelled(x.physical.transpose(0, 1), level), x.level)
    return batched(x, level)


def bottom(x: Any) -> Tensor:
    """The tensor of all examples of all levels."""
    while x.__class__ is BatchedTensor:
        x = x.physical
    return x


def innermost(values: Sequence[Any]) -> int:
    """The innermost level among the values; 0 without a batched tensor."""
    return max((x.level for x in values if x.__class__ is BatchedTensor), default=0)


class Call:
    """An operator, its operands as the level sees them, and what one example looks like."""

    __slots__ = ("operator", "operands", "has", "attributes", "geometries", "outputs", "level", "size")

    def __init__(self, operator: Operator, operands: Sequence[Any], attributes: tuple[Any, ...]) -> None:
        self.operator = operator
        self.attributes = attributes
        self.level = innermost(operands)
        self.size = levels[self.level - 1].size
        taken = [strip(x, self.level) for x in operands]
        self.operands = [x for x, _ in taken]
        self.has = [found for _, found in taken]     # whether an operand has the batch in front
        self.geometries = [plain(x._geometry) if isinstance(x, Tensor) else x.__class__ for x in operands]
        outputs = operator.infer(tuple(self.geometries), attributes)
        self.outputs: tuple[Geometry, ...] = (outputs,) if isinstance(outputs, Geometry) else tuple(outputs)

    def ndim(self, i: int) -> int:
        """Dimensions of operand i of one example; -1 where it is not a tensor."""
        g = self.geometries[i]
        return g.ndim if isinstance(g, Geometry) else -1

    def front(self, i: int) -> Any:
        """Operand i with the batch in front; what is not a tensor as it is."""
        x = self.operands[i]
        if self.has[i] or not isinstance(x, Tensor):
            return x
        return x.expand(self.size, *x.shape)

    def aligned(self, i: int, ndim: int) -> Any:
        """Operand i with the batch in front of ``ndim`` dimensions, to be broadcast."""
        x = self.operands[i]
        if not self.has[i]:
            return x
        missing = ndim - self.ndim(i)
        return x if missing <= 0 else x.reshape(x.shape[0], *[1] * missing, *x.shape[1:])

    def again(self, *operands: Any, attributes: tuple[Any, ...] | None = None) -> Any:
        """The operator on other operands."""
        return record(self.operator, operands, self.attributes if attributes is None else attributes)

    def wrap(self, results: Any) -> Any:
        """Results as this level's batched tensors."""
        if isinstance(results, tuple):
            return tuple([batched(x, self.level) for x in results])
        return batched(results, self.level)


def record_batched(operator: Operator, operands: Sequence[Any], attributes: tuple[Any, ...] = (),
                   enough: int | None = None) -> Any:
    """``record`` where an operand is batched."""
    call = Call(operator, operands, attributes)
    results = None
    if call.size:
        if operator.kind == "pointwise":
            results = pointwise(call)
        else:
            rule = RULES.get(operator.name)
            results = None if rule is None else rule(call)
            if results is not None and not fits(call, results):
                results = None  # something that the rule does not foresee
    if results is None:
        results = looped(call)
    return call.wrap(results)


def fits(call: Call, results: Any) -> bool:
    """Whether results have the batch in front of what one example gives."""
    found = results if isinstance(results, tuple) else (results,)
    return len(found) == len(call.outputs) and all(
        x.shape == (call.size, *g.shape) and x.dtype is g.dtype for x, g in zip(found, call.outputs))


def pointwise(call: Call, first: int = 0) -> Any:
    """Operands with dimensions of 1 inserted after the batch, recorded once.

    Those from ``first`` on have a common dtype.
    """
    tensors = [g for g in call.geometries if isinstance(g, Geometry)]
    ndim = max(g.ndim for g in tensors)
    operands = [call.aligned(i, ndim) for i in range(len(call.operands))]
    promoted = call.geometries[first:]
    if len({g.dtype for g in promoted if isinstance(g, Geometry)}) > 1:
        # 0-dim operands do not take part in promotion: with the batch they would.
        dtype = result_dtype(promoted)
        operands = [x.to(dtype) if i >= first and isinstance(x, Tensor) and x.dtype is not dtype and has
                    and call.ndim(i) == 0 and x.dtype.category <= dtype.category else x
                    for i, (x, has) in enumerate(zip(operands, call.has))]
    return call.again(*operands)


def looped(call: Call) -> Any:
    """The operator on each example, stacked."""
    single = len(call.outputs) == 1 and isinstance(
        call.operator.infer(tuple(call.geometries), call.attributes), Geometry)
    if not call.size:
        empty = [filled(contiguous((0, *g.shape), g.dtype, g.device), 0) for g in call.outputs]
        return empty[0] if single else tuple(empty)
    columns = [x.unbind(0) if has else [x] * call.size for x, has in zip(call.operands, call.has)]
    found = [record(call.operator, operands, call.attributes) for operands in zip(*columns)]
    return ops.stack(found) if single else tuple([ops.stack(column) for column in zip(*found)])


def each_example(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of each example of the innermost level, stacked."""
    level = innermost((*args, *kwargs.values()))
    taken = [strip(x, level) for x in (*args, *kwargs.values())]
    rows = []
    for i in range(levels[level - 1].size):
        values = [x[i] if has else x for x, has in taken]
        rows.append(function(*values[:len(args)], **dict(zip(kwargs, values[len(args):]))))
    kind = type(rows[0])
    if not issubclass(kind, tuple):
        return batched(ops.stack(rows), level)
    stacked = [batched(ops.stack(column), level) for column in zip(*rows)]
    return kind(stacked)


# --- views --------------------------------------------------------------------------------------------------

def _each_rule(g: Geometry, operator: Operator, attributes: tuple[Any, ...]) -> Geometry:
    example = intern(g.shape[1:], g.strides[1:], g.offset, g.dtype, g.device)
    part = operator.infer((example,), attributes)
    assert isinstance(part, Geometry)
    step = g.strides[0] * g.dtype.itemsize // part.dtype.itemsize
    return part.with_view((g.shape[0], *part.shape), (step, *part.strides), part.offset)


# A view of each example is a view of all: the examples lie at equal distances.
EACH = view_operator("vmap_view", _each_rule)


class _Example:
    """What a view's derivative asks of its node, for one example."""

    def __init__(self, ctx: Any) -> None:
        self.operator, self.attributes = ctx.attributes
        self.geometry = ctx.operand_geometry(0)
        self.needs = (True,)
        self.numbers = None

    def operand_geometry(self, i: int) -> Geometry:
        """The geometry of one example of the operand."""
        g = self.geometry
        return intern(g.shape[1:], g.strides[1:], g.offset, g.dtype, g.device)


@EACH.derivative("input")
def _(ctx: Any, grad: Tensor) -> Any:
    example = _Example(ctx)
    with _Levelled(grad.shape[0]) as level:
        found = example.operator.derivatives[0].rule(example, batched(grad, level))
        return None if found is None else front(found, level)


class _Levelled:
    """A level of its own, for rules that are written for one example."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> int:
        levels.append(Level(self.size, "different"))
        return len(levels)

    def __exit__(self, *exc: object) -> None:
        levels.pop()


def view_batched(operator: Operator, x: Any, attributes: tuple[Any, ...] = ()) -> Any:
    """``view`` of a batched tensor."""
    return batched(view(EACH, x.physical, (operator, attributes)), x.level)


def like_batched(x: Any, made: Tensor) -> Any:
    """A fresh tensor that ``zeros_like`` or ``new_zeros`` made for x: each example of x has its own."""
    own = made.expand(levels[x.level - 1].size, *made.shape).clone(memory_format=contiguous_format)
    inner = x.physical
    return batched(like_batched(inner, own) if inner.__class__ is BatchedTensor else own, x.level)


# --- writes -------------------------------------------------------------------------------------------------

_INPLACE = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
            "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
            "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
            "operators instead of inplace arithmetic. If said operator is being called inside the PyTorch "
            "framework, please file a bug report instead.")


def _written(x: Any, result: Any) -> Any:
    if x.__class__ is not BatchedTensor or x.level < innermost((result,)):
        raise RuntimeError(_INPLACE)
    if result._geometry.shape != x._geometry.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape "
                           f"{list(result.shape)}")
    return front(result, x.level)


def assign_batched(x: Any, result: Any, name: str) -> Any:
    """``assign`` where one of the two is batched."""
    assign(x.physical if x.__class__ is BatchedTensor else x, _written(x, result), name)
    return x


def write_batched(x: Any, result: Any) -> None:
    """``write`` where one of the two is batched."""
    value = _written(x, result)
    write(x.physical, value)


# --- looks --------------------------------------------------------------------------------------------------

_DYNAMIC = ("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
            "over "
            "aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
            "feature.")
_LOOKS = {
    "item": "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error is "
    "occurring somewhere inside PyTorch internals, please file a bug report.",
    "bool": "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .",
    "index": "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask.",
    "masked_select": "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
    "support this because for each batch this would return a differently shaped Tensor. Please file an "
    "issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
}


def look_batched(x: Any, cause: str, only_checks: bool) -> Tensor:
    """The values of all examples where they are only checked; else PyTorch's error."""
    if only_checks:
        return bottom(x)
    raise RuntimeError(_LOOKS.get(cause) or _DYNAMIC.format(cause))


# --- random numbers -----------------------------------------------------------------------------------------

_RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or "
           "'different' randomness flags on vmap or perform the randomness operation out of vmap")


def draw_batched(draw: Callable[..., Tensor], operator: Operator, generator: Any, operands: tuple[Any, ...],
                 attributes: tuple[Any, ...], depth: int) -> Tensor:
    """``draw`` inside ``depth`` levels."""
    if not depth:
        return draw(operator, generator, operands, attributes)
    level = levels[depth - 1]
    if level.randomness == "error":
        raise RuntimeError(_RANDOM)
    taken = [strip(x, depth) for x in operands]

    def once(values: Sequence[Any], others: tuple[Any, ...]) -> Tensor:
        return draw_batched(draw, operator, generator, tuple(values), others, depth - 1)

    batch = any(has for _, has in taken)
    if level.randomness == "same" and not batch:
        return once(operands, attributes)
    if level.randomness == "different" and operator.kind == "draw":
        # The numbers of a batch are those of one larger tensor.
        g = attributes[-1]
        larger = contiguous((level.size, *g.shape), g.dtype, g.device)
        return batched(once([front(x, depth) if isinstance(x, Tensor) else x for x in operands],
                            (*attributes[:-1], larger)), depth)
    source = generator or default_generator
    before = source._state
    rows = []
    for i in range(level.size):
        if level.randomness == "same":
            source._state = before
        rows.append(once([x[i] if has else x for x, has in taken], attributes))
    return batched(ops.stack(rows), depth)


# --- gradients ----------------------------------------------------------------------------------------------

def grad_batched(grad: Callable[..., Any], roots: Sequence[Any], wanted: Sequence[Any], weights: Any,
                 options: dict[str, Any]) -> tuple[Any, ...]:
    """The gradients of batched outputs: examples do not depend on one another, so one walk has them all."""
    level = innermost((*roots, *wanted))
    given = [None] * len(roots) if weights is None else \
        list(weights) if isinstance(weights, (tuple, list)) else [weights]
    depends = any(strip(x, level)[1] for x in wanted)   # shared variables are no part of an example
    for root, weight in zip(roots, given):
        if not (depends and root.requires_grad):
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if weight is None and root.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
    starts = [ops.ones_like(root) if weight is None else weight for root, weight in zip(roots, given)]
    outputs, inner = [], []
    for root, start in zip(roots, starts):
        physical, has = strip(root, level)
        if has:
            outputs.append(physical)
            inner.append(front(start, level))
    inputs = [strip(x, level) for x in wanted]
    found = iter(grad(outputs, [x for x, has in inputs if has], inner, **options))
    results: list[Any] = []
    for _, has in inputs:
        one = next(found) if has else None
        results.append(None if one is None else labelled(one, level))
    return tuple(results)


rules.record = record_batched
rules.view = view_batched
rules.assign = assign_batched
rules.write = write_batched
rules.look = look_batched
rules.like = like_batched
rules.each = each_example
rules.draw = draw_batched
rules.grad = grad_batched

__all__ = ["RULES", "Call", "bottom", "front", "innermost", "plain", "strip"]
