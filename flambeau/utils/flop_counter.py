"""``FlopCounterMode``: the arithmetic of matrix products, convolutions and attention in a block.

Note: counted operators. Operators are counted as they are recorded, so nothing has to be computed for it, and
what backward records is counted like the rest. A multiplication and its addition are two operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any, Self

from ..engine.look import compute_pending
from ..graph import pending
from ..graph.geometry import Geometry
from ..library.aten import packet
from ..nn import Module
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook


def _product(operands: Any, outputs: Any) -> int:
    """Matrices (*, n, k) and (*, k, m), last two of the operands that are matrices: 2 * n * m * k."""
    left = [g for g in operands if isinstance(g, Geometry)][-2]
    return 2 * prod(outputs[0].shape) * left.shape[-1]


def _added_product(operands: Any, outputs: Any) -> int:
    """``addmm``: what is added comes first, and its addition is not counted."""
    return 2 * prod(outputs[0].shape) * operands[1].shape[-1]


def _linear(operands: Any, outputs: Any) -> int:
    return 2 * prod(outputs[0].shape) * operands[1].shape[-1]


def _convolution(operands: Any, outputs: Any) -> int:
    """Every output element takes the weights of one filter."""
    return 2 * prod(outputs[0].shape) * prod(operands[1].shape[1:])


def _transposed(operands: Any, outputs: Any) -> int:
    """``convolution_input`` of (gradient, weight): every element that comes in meets one filter."""
    return 2 * prod(operands[0].shape) * prod(operands[1].shape[1:])


def _weights(operands: Any, outputs: Any) -> int:
    """``convolution_weight`` of (gradient, input): as many products as forward had."""
    gradient = operands[0]
    return 2 * prod(gradient.shape) * prod(outputs[0].shape[1:])


# An operator's name -> what PyTorch calls it, and how many operations it is.
_RULES: dict[str, tuple[str, Callable[[Any, Any], int]]] = {
    "mm": ("mm", _product), "bmm": ("bmm", _product), "addmm": ("addmm", _added_product),
    "baddbmm": ("baddbmm", _added_product), "linear": ("mm", _linear), "matmul": ("mm", _product),
    "convolution": ("convolution", _convolution), "convolution_input": ("convolution_backward", _transposed),
    "convolution_weight": ("convolution_backward", _weights),
}


def _named(name: str, operands: Any) -> str:
    """PyTorch's name where one operator stands for several."""
    if name == "linear" and len(operands) > 2 and isinstance(operands[2], Geometry):
        return "addmm"
    if name == "matmul" and len(operands[1].shape) > 2:
        return "bmm"
    return _RULES[name][0]


class FlopCounterMode:
    """Count operations by operator in a ``with`` block, in all (``"Global"``) and by the module that ran.

    What backward records is counted in all, not by module, and a transposed convolution as backward of the
    plain one, which it is computed as. Attention is counted as PyTorch does on CPUs: not.

    >>> import flambeau as torch
    >>> from flambeau.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.nn.Linear(3, 4)(torch.ones(5, 3))
    >>> counter.get_total_flops(), sorted(counter.get_flop_counts())
    (120, ['Global', 'Linear'])
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self._seen = 0
        self._running: list[str] = []
        self._names: dict[Module, str] = {}
        self._handles: list[Any] = []
        if custom_mapping:
            raise NotImplementedError("flambeau's FlopCounterMode takes no custom_mapping")

    def __enter__(self) -> Self:
        compute_pending("flop counter")
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._seen, self._running, self._names = 0, [], {}
        pending.watchers.append(self._taken)
        self._handles = [register_module_forward_pre_hook(self._begins),
                         register_module_forward_hook(self._ends, always_call=True)]
        return self

    def __exit__(self, *exc: object) -> None:
        compute_pending("flop counter")
        self._drain(pending.nodes)
        pending.watchers.remove(self._taken)
        for handle in self._handles:
            handle.remove()
        if self.display:
            print(self.get_table(self.depth))

    # -- counting

    def _begins(self, module: Module, args: Any) -> None:
        self._drain(pending.nodes)
        if not self._running:
            root = type(module).__name__
            self._names = {m: f"{root}.{name}".rstrip(".") for name, m in module.named_modules()}
        self._running.append(self._names.get(module, type(module).__name__))

    def _ends(self, module: Module, args: Any, output: Any) -> None:
        self._drain(pending.nodes)
        if self._running:
            self._running.pop()

    def _taken(self, nodes: list[Any]) -> None:
        """Nodes leave the list to be computed."""
        self._drain(nodes)
        self._seen = 0

    def _drain(self, nodes: list[Any]) -> None:
        for node in nodes[self._seen:]:
            signature = node.signature
            name = signature.operator.name
            if name in _RULES:
                count = _RULES[name][1](signature.geometries, signature.outputs)
                known = _named(name, signature.geometries)
                operator = packet(known) or f"aten.{known}"
                for place in dict.fromkeys([*self._running, "Global"]):
                    self.flop_counts[place][operator] += count
        self._seen = len(nodes)

    # -- results

    def get_total_flops(self) -> int:
        """All operations.

        >>> import flambeau as torch
        >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
        """
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module (``Net.layer.0``) and in all, by operator.

        >>> import flambeau as torch
        >>> from flambeau.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_flop_counts()["Global"]
        {<OpOverloadPacket(op='aten.mm')>: 48}
        """
        found = {place: dict(counts) for place, counts in self.flop_counts.items()}
        found.setdefault("Global", {})
        return found

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, modules down to a depth."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        places = sorted(place for place in self.flop_counts if place != "Global") or ["Global"]
        for place in places:
            if place.count(".") + 1 <= depth or place == "Global":
                counts = self.flop_counts[place]
                rows.append((place, str(sum(counts.values())), f"{sum(counts.values()) / total:.2%}"))
                rows += [(f"- {o}", str(n), f"{n / total:.2%}") for o, n in counts.items()]
        widths = [max(len(rows[0][i]) + (i > 0) * 2, *(len(row[i]) for row in rows[1:])) for i in range(3)]
        rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2]))
        first, *others = widths
        return "\n".join("  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in rows)


__all__ = ["FlopCounterMode"]
