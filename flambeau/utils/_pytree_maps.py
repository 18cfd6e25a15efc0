"""Functions over trees: mapping, questions, paths and dumps (see ``_pytree``)."""

from __future__ import annotations

import json
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..size import Size
from ._pytree_nodes import SERIALIZED, SUPPORTED_NODES, KeyPath, LeafTest, PyTree
from ._pytree_spec import (
    LeafSpec,
    TreeSpec,
    _get_node_type,
    _is_leaf,
    tree_flatten,
    tree_iter,
    tree_structure,
)


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: LeafTest = None) -> PyTree:
    """A tree of ``func`` of each leaf; ``rests`` are trees that reach at least as deep.

    >>> from flambeau.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*each) for each in zip(leaves, *map(spec.flatten_up_to, rests))])


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: LeafTest = None) -> PyTree:
    """Call ``func`` on each leaf for what it does; the tree comes back.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_map_(lambda x: x.zero_(), {"a": torch.ones(1)})
    {'a': tensor([0.])}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *map(spec.flatten_up_to, rests)):
        func(*each)
    return tree


def _predicate(wanted: Any) -> Callable[[Any], bool]:
    if isinstance(wanted, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, wanted)
    if callable(wanted):
        return wanted
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Make a function leave alone what is not of the type (or what the predicate denies).

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> double = pytree.map_only(int)(lambda n: 2 * n)
    >>> double(3), double("a")
    (6, 'a')
    """
    wanted = _predicate(type_or_types_or_pred)

    def wrap(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if wanted(x) else x
    return wrap


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree,
                  is_leaf: LeafTest = None) -> PyTree:
    """``tree_map`` on the leaves of a type; the others stay.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_map_only(int, lambda n: n + 1, [1, "a", (2.0, 3)])
    [2, 'a', (2.0, 4)]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree,
                   is_leaf: LeafTest = None) -> PyTree:
    """``tree_map_`` on the leaves of a type.

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> values = [torch.zeros(2), 3]
    >>> _ = pytree.tree_map_only_(torch.Tensor, lambda x: x.add_(1), values)
    >>> values
    [tensor([1., 1.]), 3]
    """
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: LeafTest = None) -> bool:
    """Whether some leaf satisfies ``pred``.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_any(lambda n: n > 2, [1, (2, 3)])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: LeafTest = None) -> bool:
    """Whether every leaf satisfies ``pred``.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_all(lambda n: n > 2, [1, (2, 3)])
    False
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree,
                  is_leaf: LeafTest = None) -> bool:
    """Whether some leaf of a type satisfies ``pred``.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_any_only(int, lambda n: n > 2, ["a", 3])
    True
    """
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree,
                  is_leaf: LeafTest = None) -> bool:
    """Whether every leaf of a type satisfies ``pred``.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_all_only(int, lambda n: n > 2, ["a", 3])
    True
    """
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: LeafTest = None) -> list[Any] | None:
    """The leaves of ``tree`` repeated to fill ``treespec``; None where they do not fit."""
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.is_leaf() or kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs):
        leaves = _broadcast_to_and_flatten(child, spec, is_leaf)
        if leaves is None:
            return None
        found.extend(leaves)
    return found


# -- paths --------------------------------------------------------------------------------------------------


def tree_flatten_with_path(tree: PyTree, is_leaf: LeafTest = None) -> tuple[list[tuple[Any, Any]], TreeSpec]:
    """The leaves with their paths, and the nesting.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> leaves, spec = pytree.tree_flatten_with_path([1, {"b": 2}])
    >>> [pytree.keystr(path) for path, _ in leaves], spec.num_leaves
    (['[0]', "[1]['b']"], 2)
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: LeafTest = None) -> list[tuple[Any, Any]]:
    """The leaves with their paths.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> [(pytree.keystr(path), x) for path, x in pytree.tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    found: list[tuple[Any, Any]] = []
    _walk((), tree, is_leaf, found)
    return found


def _walk(path: KeyPath, tree: PyTree, is_leaf: LeafTest, found: list[tuple[Any, Any]]) -> None:
    if _is_leaf(tree, is_leaf):
        found.append((path, tree))
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")
    for key, child in with_keys(tree)[0]:
        _walk((*path, key), child, is_leaf, found)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree,
                       is_leaf: LeafTest = None) -> PyTree:
    """``tree_map`` of ``func(path, leaf, ...)``.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), {"a": [1, 2]})
    {'a': ["['a'][0]", "['a'][1]"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)])


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.keystr((pytree.MappingKey("a"), pytree.SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What lies at the end of a path.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.key_get({"a": [1, 2]}, (pytree.MappingKey("a"), pytree.SequenceKey(1)))
    2
    """
    for key in kp:
        obj = key.get(obj)
    return obj


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A nesting as its values would print, with a star for each leaf: ``(*, {'a': *})``."""
    return repr(treespec.unflatten([_Star() for _ in range(treespec.num_leaves)]))


# -- dumps --------------------------------------------------------------------------------------------------

PROTOCOL = 1
_BUILTIN = {f"{kind.__module__}.{kind.__name__}": kind for kind in (
    tuple, list, dict, OrderedDict, defaultdict, deque)} | {"torch.Size": Size}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A nesting as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                        f"{type(treespec)}.")
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((PROTOCOL, _to_dict(treespec)))


def _to_dict(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name, context = _dumped(spec)
    return {"type": name, "context": context,
            "children_spec": [_to_dict(child) for child in spec.children_specs]}


def _dumped(spec: TreeSpec) -> tuple[str, Any]:
    for name, kind in _BUILTIN.items():
        if kind is spec.type and kind is not defaultdict:
            return name, json.dumps(spec.context)
    if spec.type not in SERIALIZED:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update "
                                  "your _register_pytree_node call with a `serialized_type_name` kwarg.")
    name, dump, _ = SERIALIZED[spec.type]
    return name, dump(spec.context) if dump is not None else json.dumps(spec.context)


def treespec_loads(serialized: str) -> TreeSpec:
    """The nesting that ``treespec_dumps`` wrote.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> spec = pytree.tree_structure([1, (2, 3)])
    >>> pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    True
    """
    protocol, data = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _from_dict(data)


def _from_dict(data: dict[str, Any]) -> TreeSpec:
    name = data["type"]
    if name is None:
        return LeafSpec()
    children = [_from_dict(child) for child in data["children_spec"]]
    if name in _BUILTIN:
        return TreeSpec(_BUILTIN[name], json.loads(data["context"]), children)
    for kind, (serialized_name, _, load) in SERIALIZED.items():
        if serialized_name == name:
            context = load(data["context"]) if load is not None else json.loads(data["context"])
            return TreeSpec(kind, context, children)
    raise NotImplementedError(f"Deserializing `{name}` in pytree is not registered.")
