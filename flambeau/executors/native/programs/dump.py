"""What a program is made of, as text: for ``FLAMBEAU_DUMP``."""

from __future__ import annotations

from pathlib import Path

from ....graph.geometry import Geometry, row_major_strides
from ....graph.site import describe, location
from ..llvm import code
from .outline import INNER, LEAF, NUMBER
from .planning import Draft, Result

_written = 0


def dump(draft: Draft) -> None:
    """Write a program's graph and schedule into the folder ``FLAMBEAU_DUMP``.

    The file is named after the line that recorded the program's last node. It names the files of the kernels'
    code, which several programs may share.
    """
    global _written
    folder = code.dump_folder()
    if folder is None:
        return
    _written += 1
    name, line = location(draft.nodes[0].site)
    stem = "".join(c if c.isalnum() or c in "_-" else "_" for c in Path(name).stem)
    (folder / f"{stem}_{line}-{_written}.txt").write_text(text_of(draft))


def text_of(draft: Draft) -> str:
    """The graph and the schedule of a program."""
    native = [plan for _, plan in draft.stages if plan is not None]
    times = sum(plan.nanoseconds for plan in native)
    lines = [f"{len(draft.nodes)} nodes, {len(draft.stages)} stages ({len(native)} native), "
             f"{sum(len(plan.calls) for plan in native)} kernel calls, modelled {times * 1e-3:.3f} us on one "
             f"thread, arena {draft.size} bytes", "", "nodes, as they were recorded"]
    site = ""
    for k in reversed(range(len(draft.nodes))):
        if describe(draft.nodes[k].site) != site:
            site = describe(draft.nodes[k].site)
            lines.append(f"  {site}")
        lines.append(f"    {_node(draft, k)}")
    lines += ["", "stages, as they run"]
    for s in range(len(draft.stages)):
        lines += _stage(draft, s)
    return "\n".join(lines) + "\n"


def _name(draft: Draft, k: int) -> str:
    """Nodes are numbered as they were recorded."""
    return f"%{len(draft.nodes) - 1 - k}"


def _node(draft: Draft, k: int) -> str:
    signature = draft.signature(k)
    operands = [_operand(draft, k, j) for j in range(len(draft.sources[k]))]
    attributes = f" {list(signature.attributes)}" if signature.attributes else ""
    results = ", ".join(_geometry(g) for g in signature.outputs)
    seen = ", held outside" if k in draft.seen else ""
    call = f"{signature.operator.name}({', '.join(operands)}){attributes}"
    return f"{_name(draft, k)} = {call} -> {results}{seen}"


def _operand(draft: Draft, k: int, j: int) -> str:
    kind, at = draft.sources[k][j]
    if kind == NUMBER:
        return str(draft.nodes[k].operands[j])
    if kind not in (INNER, LEAF):
        return "None"
    geometry = draft.signature(k).geometries[j]
    name = _name(draft, at) if kind == INNER else f"leaf{at}"
    return f"{name}: {_geometry(geometry)}" if isinstance(geometry, Geometry) else name


def _geometry(g: Geometry) -> str:
    strides = "" if g.strides == row_major_strides(g.shape) else f" strides {list(g.strides)}"
    return f"{g.dtype.name}{list(g.shape)}{strides}" + (f" offset {g.offset}" if g.offset else "")


def _stage(draft: Draft, s: int) -> list[str]:
    members, plan = draft.stages[s]
    members = sorted(members, reverse=True)
    names = "+".join(draft.signature(k).operator.name for k in members)
    title = f"  stage {s}: {names} ({' '.join(_name(draft, k) for k in members)})"
    if plan is None:
        return [f"{title}, by the interpreter"]
    lines = [f"{title}, modelled {plan.nanoseconds * 1e-3:.3f} us, {plan.flops:.0f} flops, "
             f"{plan.traffic:.0f} bytes of traffic"]
    for call in plan.calls:
        file = code.files.get(call.function)
        kernel = f"{file}.ll, .opt.ll, .s" if file is not None else "compiled before the dump began"
        scratch = f", {call.scratch} bytes of scratch" if call.scratch else ""
        lines.append(f"      kernel {kernel}: {call.tasks} tasks, {call.grain} at a time{scratch}")
    for k in members:
        for result in draft.results(k):
            g = draft.signature(k).outputs[result[1]]
            number = f"[{result[1]}]" if result[1] else ""
            lines.append(f"      {_name(draft, k)}{number}: {_place(draft, result)}, "
                         f"{g.numel * g.dtype.itemsize} bytes")
    if plan.workspace:
        lines.append(f"      workspace: arena {draft.workspaces[s]}, {plan.workspace} bytes")
    return lines


def _place(draft: Draft, result: Result) -> str:
    """Where a result lies."""
    root = draft.root(result)
    over = f"over {_name(draft, root[0])}, " if root != result else ""
    if root in draft.offsets:
        return f"{over}arena {draft.offsets[root]}"
    return f"{over}an array of its own" if root in draft.held else "stays in the kernel"
