"""The record of looks: what was computed when, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..executors.measure import KernelTime
from ..graph.site import Site, describe


class Look(NamedTuple):
    """One run of what was pending."""

    cause: str
    site: Site | None
    recorded: int
    computed: int
    seconds: float
    tier: str
    kernels: tuple[KernelTime, ...] = ()


class Looks(deque[Any]):
    """The last looks; what is appended may be plain tuples, which cost a fraction of a ``Look`` to make."""

    def __getitem__(self, i: Any) -> Any:
        return Look(*super().__getitem__(i))

    def __iter__(self) -> Iterator[Look]:
        for fields in super().__iter__():
            yield Look(*fields)


looks = Looks(maxlen=256)
# Called with each look, by the thread that looked: the profiler listens here.
listeners: list[Callable[[Look], None]] = []


def explain(last: int = 20, kernels: bool = False) -> str:
    """A table of the last looks: source line, cause, nodes recorded and computed, time, tier.

    The tier is what computed them: the interpreter, or a native program. ``native, new``: the program was
    made for this look; ``native, new shapes``: it was planned anew, with the kernels of other shapes' graphs.

    ``kernels``: also what each look was made of, where ``config.kernel_times`` was on: kernels of one name
    and line are added up; time as measured and as the cost model expects it, GFLOP/s and GB/s by the model's
    counts.

    >>> import flambeau as torch
    >>> torch.ones(2).sum().item()
    2.0
    >>> "item" in torch.explain(last=1)
    True
    """
    lines = [f"{'cause':14s} {'recorded':>8s} {'computed':>8s} {'ms':>9s} {'tier':18s} line"]
    for look in list(looks)[-last:]:
        lines.append(f"{look.cause:14s} {look.recorded:8d} {look.computed:8d} {look.seconds * 1e3:9.3f} "
                     f"{look.tier:18s} {describe(look.site)}")
        if kernels and look.kernels:
            lines += _kernel_lines(look.kernels)
    return "\n".join(lines)


def _kernel_lines(kernels: tuple[KernelTime, ...]) -> list[str]:
    groups: dict[tuple[object, ...], list[KernelTime]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.name, kernel.tier, kernel.site), []).append(kernel)
    lines = [f"    {'us':>10s} {'modelled':>10s} {'calls':>5s} {'GFLOP/s':>8s} {'GB/s':>7s} {'tier':11s} "
             "kernel, line"]
    for group in sorted(groups.values(), key=lambda group: -sum(kernel.seconds for kernel in group)):
        seconds = max(sum(kernel.seconds for kernel in group), 1e-12)
        modelled, flops, traffic = (sum(getattr(kernel, field) for kernel in group)
                                    for field in ("modelled", "flops", "traffic"))
        first = group[0]
        name = first.name if len(first.name) <= 60 else first.name[:57] + "..."
        lines.append(f"    {seconds * 1e6:10.1f} {modelled * 1e6:10.1f} {len(group):5d} "
                     f"{flops / seconds / 1e9:8.1f} "
                     f"{traffic / seconds / 1e9:7.1f} {first.tier:11s} {name}, {describe(first.site)}")
    return lines
