"""What a program is made of, as text: for ``FLAMBEAU_DUMP``."""

from __future__ import annotations

from operator import index
from pathlib import Path
from types import FunctionType

from .....graph.geometry import Geometry
from .....graph.node import Node
from .....graph.site import describe, location
from .....graph.strides import row_major_strides
from ...llvm.compiling import dumping
from ..patterns.outline import INNER, LEAF, NUMBER
from ..patterns.pattern import Plans, Result
from .program import Program

_written = 0


def dump(program: Program, nodes: list[Node], plans: Plans) -> None:
    """Write a program's graph and schedule into the folder ``FLAMBEAU_DUMP``.

    The file is named after the line that recorded the program's last node. It names the files of the kernels'
    code, which several programs may share.
    """
    global _written
    folder = dumping.dump_folder()
    if folder is None:
        return
    _written += 1
    name, line = location(nodes[0].site)
    stem = "".join(c if c.isalnum() or c in "_-" else "_" for c in Path(name).stem)
    (folder / f"{stem}_{line}-{_written}.txt").write_text(_Text(program, nodes, plans).text())


class _Text:
    """The description of a program."""

    def __init__(self, program: Program, nodes: list[Node], plans: Plans) -> None:
        self.program = program
        self.pattern = program.pattern
        self.signatures = program.signatures
        self.nodes = nodes
        self.plans = plans

    def text(self) -> str:
        native = [plan for plan in self.plans if plan is not None]
        times = sum(plan.nanoseconds for plan in native)
        lines = [f"{len(self.nodes)} nodes, {len(self.plans)} stages ({len(native)} native), "
                 f"{sum(len(plan.calls) for plan in native)} kernel calls, modelled {times * 1e-3:.3f} us on "
                 f"one thread, arena {self.program.size} bytes", "", "nodes, as they were recorded"]
        site = ""
        for k in reversed(range(len(self.nodes))):
            if describe(self.nodes[k].site) != site:
                site = describe(self.nodes[k].site)
                lines.append(f"  {site}")
            lines.append(f"    {self._node(k)}")
        lines += ["", "stages, as they run"]
        for s in range(len(self.plans)):
            lines += self._stage(s)
        return "\n".join(lines) + "\n"

    def _name(self, k: int) -> str:
        """Nodes are numbered as they were recorded."""
        return f"%{len(self.nodes) - 1 - k}"

    def _node(self, k: int) -> str:
        signature = self.signatures[k]
        operands = [self._operand(k, j) for j in range(len(self.pattern.sources[k]))]
        attributes = f" [{', '.join(map(_attribute, signature.attributes))}]" if signature.attributes else ""
        results = ", ".join(_geometry(g) for g in signature.outputs)
        seen = ", held outside" if k in self.pattern.seen else ""
        call = f"{signature.operator.name}({', '.join(operands)}){attributes}"
        return f"{self._name(k)} = {call} -> {results}{seen}"

    def _operand(self, k: int, j: int) -> str:
        kind, at = self.pattern.sources[k][j]
        if kind == NUMBER:
            return str(self.nodes[k].operands[j])
        if kind not in (INNER, LEAF):
            return "None"
        geometry = self.signatures[k].geometries[j]
        name = self._name(at) if kind == INNER else f"leaf{at}"
        return f"{name}: {_geometry(geometry)}" if isinstance(geometry, Geometry) else name

    def _stage(self, s: int) -> list[str]:
        members, plan = sorted(self.pattern.stages[s], reverse=True), self.plans[s]
        names = "+".join(self.signatures[k].operator.name for k in members)
        title = f"  stage {s}: {names} ({' '.join(self._name(k) for k in members)})"
        if plan is None:
            return [f"{title}, by the interpreter"]
        lines = [f"{title}, modelled {plan.nanoseconds * 1e-3:.3f} us, {plan.flops:.0f} flops, "
                 f"{plan.traffic:.0f} bytes of traffic"]
        for call in plan.calls:
            file = dumping.files.get(index(call.function))
            kernel = f"{file}.ll, .opt.ll, .s" if file is not None else "compiled before the dump began"
            scratch = f", {call.scratch} bytes of scratch" if call.scratch else ""
            lines.append(f"      kernel {kernel}: {call.tasks} tasks, {call.grain} at a time{scratch}")
        for result in [result for k in members for result in self.pattern.results(k)]:
            g = self.signatures[result[0]].outputs[result[1]]
            number = f"[{result[1]}]" if result[1] else ""
            lines.append(f"      {self._name(result[0])}{number}: {self._place(result)}, "
                         f"{g.nbytes} bytes")
        if plan.workspace:
            lines.append(f"      workspace: arena {self.program.offsets[s]}, {plan.workspace} bytes")
        return lines

    def _place(self, result: Result) -> str:
        """Where a result lies."""
        root = self.pattern.root(result)
        over = f"over {self._name(root[0])}, " if root != result else ""
        if root in self.program.offsets:
            return f"{over}arena {self.program.offsets[root]}"
        return f"{over}an array of its own" if root in self.pattern.held else "stays in the kernel"


def _attribute(x: object) -> str:
    """A function by its name: its address says nothing."""
    return x.__qualname__ if isinstance(x, FunctionType) else repr(x)


def _geometry(g: Geometry) -> str:
    strides = "" if g.strides == row_major_strides(g.shape) else f" strides {list(g.strides)}"
    return f"{g.dtype.name}{list(g.shape)}{strides}" + (f" offset {g.offset}" if g.offset else "")
