"""Operator: the record of one operator. Kernel, shape rule, derivatives; everything else hangs off it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .geometry import Geometry

if TYPE_CHECKING:
    from .node import Signature

Kernel = Callable[..., Any]
# Geometries (for Python numbers their types, None for an absent operand), attributes -> output geometries.
ShapeRule = Callable[..., "Geometry | tuple[Geometry, ...]"]
Price = Callable[["Signature"], float]


class Derivative:
    """A rule for the gradients of some operands.

    ``rule(ctx, grad_output, *kept)`` returns one gradient, or a tuple of them where ``operands`` has several.
    ``keeps`` are positions of what the rule is given: operand i as i, output i as ``~i``.

    PyTorch's rules save more, or less, where their formulas are others. It shows in two ways. ``once``:
    whether backward may go only once through the operation without ``retain_graph`` (None: if the rule keeps
    a tensor). ``formal``: operands of which a gradient is a function in PyTorch, though a constant one, so
    that under ``create_graph`` it requires a gradient where they do.
    """

    __slots__ = ("rule", "operands", "keeps", "once", "formal")

    def __init__(self, rule: Callable[..., Any], operands: tuple[int, ...], keeps: tuple[int, ...],
                 once: bool | None, formal: tuple[int, ...]) -> None:
        self.rule = rule
        self.operands = operands
        self.keeps = keeps
        self.once = once
        self.formal = formal

    def frees(self, geometries: tuple[Any, ...]) -> bool:
        """Whether a backward pass lets go of something, so that no other can follow."""
        if self.once is not None:
            return self.once
        return any(k < 0 or isinstance(geometries[k], Geometry) for k in self.keeps)


def _reading(rule: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A rule that is given more than the first ``count`` of what is kept."""
    def reads(ctx: Any, grad: Any, *kept: Any) -> Any:
        return rule(ctx, grad, *kept[:count])
    return reads


class Rows:
    """How an operator goes over rows, whose results are a value for each row or for each element.

    ``dims(signature)`` are the dimensions along which its rows lie (one, several, or None for all),
    ``passes`` how often it goes over them. Operands ``per_channel`` have a value for each channel and are not
    broadcast as usual. ``counts``: results tell how many elements of a row come before, in the order of its
    dimensions.
    """

    __slots__ = ("dims", "passes", "per_channel", "counts")

    def __init__(self, passes: int, dims: Callable[[Signature], Any] | None = None,
                 per_channel: tuple[int, ...] = (), counts: bool = False) -> None:
        self.passes = passes
        self.dims = dims or _first_attribute
        self.per_channel = per_channel
        self.counts = counts


class OnStacks:
    """Says that an operator does to a stack of samples what it does to each (Note: joint computing).

    The attribute at ``dims``, if that is not negative, has dimensions counted from the first one on, which it
    ``reduces`` or not; others count from the last one. ``numbers``: a number may be another one for each
    sample. ``border``: of an operator that puts a border of one value, its second operand, around a tensor,
    how many elements come before it in each dimension, ``border(attributes, ndim)``.
    """

    __slots__ = ("dims", "reduces", "numbers", "border")

    def __init__(self, dims: int = -1, reduces: bool = False, numbers: bool = False,
                 border: Callable[[Any, int], tuple[int, ...]] | None = None) -> None:
        self.border = border
        self.dims = dims
        self.reduces = reduces
        self.numbers = numbers


def _first_attribute(signature: Signature) -> Any:
    return signature.attributes[0]


class Operator:
    """A named kernel with its shape rule and derivatives.

    ``kernel(m, *operands, *attributes)`` computes on arrays of the namespace ``m`` (in the interpreter
    NumPy's). ``infer(operands, attributes)`` gives the outputs' geometries, or raises what PyTorch raises.
    ``compute(operands)`` names the dtype in which a kernel wants its operands (None: as they are). ``owns``
    lists the operands that the kernel may overwrite, and gets as private copies where they are still needed.
    ``price(signature)`` is what the kernel costs beside a call and the bytes of its result.
    ``rounds(operands)`` names for each operand the 16-bit type to which it is rounded before anything is
    computed (None: none is): that of the result, where the operand is a number, or of another type.

    ``rows``: how it goes over rows, where native code does so with the definition.
    ``on_stacks``: whether it does to stacks of samples what it does to each; pointwise operators do anyway.

    ``kind``: "pointwise", "conversion" and "choice" (pointwise by what they compute, but with shape rules of
    their own: another type or memory format; elements of one operand or of another; of "pointwise" and
    "choice" ``infer`` tells, beside what shapes broadcast to, what types and attributes decide: it is not
    asked again for other shapes), "move" (elements as they
    are, of any type), "view", "draw" (random numbers, each element by itself), "variadic" (any number of
    tensors), "multi_tensor" (an optimizer's update of many), "project" (one of several results), or
    "structured": any other.
    """

    __slots__ = ("name", "kernel", "infer", "compute", "parameters", "derivatives", "variadic_derivative",
                 "grad_class", "outputs", "owns", "kind", "non_differentiable_outputs",
                 "differentiable", "price", "rounds", "rows", "on_stacks")

    def __init__(self, name: str, kernel: Kernel, infer: ShapeRule, parameters: tuple[str, ...], *,
                 compute: Callable[..., Any] | None = None, owns: tuple[int, ...] = (),
                 kind: str = "structured", grad_name: str | None = None,
                 non_differentiable_outputs: tuple[int, ...] = (), price: Price | None = None,
                 rounds: Callable[..., Any] | None = None, rows: Rows | None = None) -> None:
        self.name = name
        self.kernel = kernel
        self.infer = infer
        self.parameters = parameters
        self.compute = compute
        self.owns = owns
        self.kind = kind
        self.derivatives: list[Derivative] = []
        self.variadic_derivative: Callable[..., Any] | None = None
        title = "".join(part.capitalize() for part in name.split("_"))
        self.grad_class: Any = grad_name or title + "Backward0"
        self.non_differentiable_outputs = non_differentiable_outputs
        self.differentiable = False
        self.price = price
        self.rounds = rounds
        self.rows = rows
        self.on_stacks: OnStacks | None = None

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def derivative(self, *names: str, keeps: str = "", holds: str = "", once: bool | None = None,
                   formal: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient rule of the operands ``names``.

        ``keeps`` names what the rule reads beside the gradient: operands by parameter name, ``output`` or
        ``output1``, ... for results; the rule gets them as arguments in this order. ``holds`` names
        in the same way what PyTorch saves beside these: the rule has no use for it, but that it was written
        since is refused too. ``once``, ``formal``: see ``Derivative``.
        """
        def declare(rule: Callable[..., Any]) -> Callable[..., Any]:
            positions = tuple(self.parameters.index(name) for name in names)
            of = tuple(map(self.parameters.index, formal.split()))
            read, held = keeps.split(), holds.split()
            self.derivatives.append(Derivative(_reading(rule, len(read)) if held else rule, positions,
                                               tuple(map(self._position, read + held)), once, of))
            self.differentiable = True
            return rule
        return declare

    def derivative_of_all(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Declare ``rule(ctx, grad_output) -> gradients of all operands``, for operators on lists (cat)."""
        self.variadic_derivative = rule
        self.differentiable = True
        return rule

    def differentiable_operands(self, count: int) -> tuple[int, ...]:
        """Which of ``count`` operands have a gradient rule: not indices, masks or bounds."""
        if self.variadic_derivative is not None:
            return tuple(range(count))
        return tuple(sorted({i for d in self.derivatives for i in d.operands if i < count}))

    def _position(self, name: str) -> int:
        if name in self.parameters:
            return self.parameters.index(name)
        if not name.startswith("output"):
            raise ValueError(f"operator {self.name} has no operand or output {name}")
        return ~int(name[6:] or 0)
