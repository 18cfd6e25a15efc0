"""``replace_pattern``: find where a graph does what a pattern does, and let it do something else there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node


class Match(NamedTuple):
    """Where a pattern was found: the pattern's first result, and the graph's nodes by the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


def replace_pattern(gm: GraphModule, pattern: Callable[..., Any] | GraphModule,
                    replacement: Callable[..., Any] | GraphModule) -> list[Match]:
    """Replace what ``pattern`` does by what ``replacement`` does, wherever ``gm`` does it, without overlaps.

    Patterns have one result or several, and replacements as many. Inner values of a match that something else
    uses as well forbid it.

    >>> import flambeau as torch
    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x, w: torch.relu(x + w).sum())
    >>> found = fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.sigmoid(a * b))
    >>> [str(node) for node in traced.graph.nodes], len(found)
    (['x', 'w', 'mul', 'sigmoid', 'sum_1', 'output'], 1)
    """
    wanted, new = _graph_of(pattern), _graph_of(replacement)
    _adopt(gm, replacement)
    found = _matches(gm.graph, wanted)
    renamed: dict[Node, Node] = {}
    inputs = [n for n in wanted.nodes if n.op == "placeholder"]
    for match in found:
        given = {n: renamed.get(match.nodes_map[n], match.nodes_map[n]) for n in inputs}
        match.nodes_map.update(given)
        _replace(gm.graph, wanted, new, match, [*given.values()], renamed)
    gm.recompile()
    return found


def _graph_of(source: Any) -> Graph:
    if isinstance(source, Graph):
        return source
    return source.graph if isinstance(source, GraphModule) else symbolic_trace(source).graph


def _adopt(gm: GraphModule, replacement: Any) -> None:
    """Modules and tensors that only the replacement has become the module's."""
    if not isinstance(replacement, GraphModule):
        return
    for node in replacement.graph.nodes:
        if node.op in ("call_module", "get_attr"):
            value: Any = replacement
            for part in str(node.target).split("."):
                value = getattr(value, part)
            owner, _, last = str(node.target).rpartition(".")
            try:
                place = gm.get_submodule(owner)
            except AttributeError:
                continue
            if not hasattr(place, last):
                setattr(place, last, value)


def _result(graph: Graph) -> list[Node]:
    """The nodes that a graph returns."""
    return graph.output_node().all_input_nodes


def _matches(graph: Graph, pattern: Graph) -> list[Match]:
    results = _result(pattern)
    found, used = [], set[Node]()
    for mapping in _mappings(graph, results, {}) if results else ():
        inner = _inner(mapping)
        if not inner & used and _stands_alone(results, mapping, inner):
            used |= inner
            found.append(Match(results[0], mapping))
    return found


def _mappings(graph: Graph, results: Sequence[Node], mapping: dict[Node, Node]) -> Iterator[dict[Node, Node]]:
    """All ways to find the results of a pattern, and what leads to them, in a graph."""
    wanted = next((result for result in results if result not in mapping), None)
    if wanted is None:
        yield mapping
        return
    for node in graph.nodes:
        tried = dict(mapping)
        if _fits(wanted, node, tried):
            yield from _mappings(graph, results, tried)


def _inner(mapping: dict[Node, Node]) -> set[Node]:
    """What a replacement would replace."""
    return {own for wanted, own in mapping.items() if wanted.op != "placeholder"}


def _stands_alone(results: Sequence[Node], mapping: dict[Node, Node], inner: set[Node]) -> bool:
    """Whether only results are used elsewhere, each node is found once, and a replacement has a place.

    That is behind all that is given to it, and before all that uses its results.
    """
    steps = [(wanted, own) for wanted, own in mapping.items() if wanted.op != "placeholder"]
    if len(inner) < len(steps):
        return False
    if any(user not in inner for wanted, own in steps if wanted not in results for user in own.users):
        return False
    given = [own for wanted, own in mapping.items() if wanted.op == "placeholder"]
    users = _users(results, mapping, inner)
    return not given or not users or max(given) < users[0]


def _users(results: Sequence[Node], mapping: dict[Node, Node], inner: set[Node]) -> list[Node]:
    """What uses the results elsewhere, in the graph's order."""
    return sorted({user for result in results for user in mapping[result].users} - inner)


def _fits(wanted: Node, node: Node, mapping: dict[Node, Node]) -> bool:
    """Whether a node, with what leads to it, does what the pattern's node does; fills ``mapping``."""
    stack = [(wanted, node)]
    while stack:
        a, b = stack.pop()
        if a in mapping:
            if mapping[a] is not b:
                return False
            continue
        mapping[a] = b
        if a.op == "placeholder":
            continue
        if a.op != b.op or a.target != b.target:
            return False
        ours, theirs = _leaves((a.args, a.kwargs)), _leaves((b.args, b.kwargs))
        if len(ours) != len(theirs):
            return False
        for one, other in reversed([*zip(ours, theirs, strict=True)]):
            if isinstance(one, Node) and isinstance(other, Node):
                stack.append((one, other))
            elif isinstance(one, Node) or isinstance(other, Node) or one != other:
                return False
    return True


def _leaves(a: Any) -> list[Any]:
    """The values in nested arguments, with what holds them."""
    if isinstance(a, (tuple, list)):
        return [type(a).__name__, *(leaf for item in a for leaf in _leaves(item))]
    if isinstance(a, dict):
        return ["dict", *(leaf for key, value in a.items() for leaf in (key, *_leaves(value)))]
    if isinstance(a, slice):
        return ["slice", *_leaves((a.start, a.stop, a.step))]
    return [a]


def _replace(graph: Graph, pattern: Graph, new: Graph, match: Match, given: list[Node],
             renamed: dict[Node, Node]) -> None:
    results, wanted = _result(new), _result(pattern)
    if len(results) != len(wanted):
        raise AssertionError(f"Returning nodes count mismatch: {len(wanted)} vs {len(results)}")
    copies = dict(zip((n for n in new.nodes if n.op == "placeholder"), given, strict=True))
    users = _users(wanted, match.nodes_map, _inner(match.nodes_map))
    with graph.inserting_before(users[0] if users else max(match.nodes_map[n] for n in wanted).next):
        graph.graph_copy(new, copies)
    for old, result in ((match.nodes_map[n], copies[r]) for n, r in zip(wanted, results)):
        old.replace_all_uses_with(result)
        renamed[old] = result
    for node in reversed(pattern.nodes):
        own = match.nodes_map.get(node)
        if own is not None and node.op != "placeholder" and not own._erased:
            graph.erase_node(own)


__all__ = ["Match", "replace_pattern"]
