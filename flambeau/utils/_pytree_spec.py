"""Trees taken apart into leaves and a description of the nesting, and put together (see ``_pytree``)."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

from ._pytree_nodes import SUPPORTED_NODES, Context, LeafTest, PyTree, is_namedtuple


def _get_node_type(tree: Any) -> Any:
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple(cls) else cls


def _is_leaf(tree: Any, is_leaf: LeafTest = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


tree_is_leaf = _is_leaf


# -- taking trees apart -------------------------------------------------------------------------------------


class TreeSpec:
    """The nesting of a tree without its leaves.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> spec = pytree.tree_structure((1, [2, 3]))
    >>> spec.num_leaves, spec.num_children
    (3, 2)
    """

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)

    @property
    def context(self) -> Context:
        """What the container's flattening told besides its items, such as the keys of a dict."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The nesting of each item."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The nesting of each item."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The nesting of one item."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether this describes a single leaf.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.tree_structure(1).is_leaf(), pytree.tree_structure([1]).is_leaf()
        (True, False)
        """
        return self.type is None

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The parts of ``tree`` in the places of this description's leaves.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.tree_structure((0, 0)).flatten_up_to(([1, 2], {"a": 3}))
        [[1, 2], {'a': 3}]
        """
        found: list[Any] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _get_node_type(tree)
        both_dicts = self.type in _DICTS and kind in _DICTS
        if kind is not self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if both_dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                told = f"; missing key(s): {missing}" if missing else ""
                told += f"; extra key(s): {extra}" if extra else ""
                raise ValueError(f"Node keys mismatch{told}.")
            children = [tree[key] for key in keys]
        elif context != self._context and self.type is not deque:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected "
                             f"{self._context!r}, but got {context!r}.")
        for child, spec in zip(children, self._children):
            spec._flatten_up_to(child, found)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.tree_structure((1, [2])).unflatten(["a", "b"])
        ('a', ['b'])
        """
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a "
                f"pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children],
                                                       self._context)

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        space = "\n" + " " * (indent + 2)
        inside = f",{space}".join(child.__repr__(indent + 2) for child in self._children)
        name = getattr(self.type, "__name__", str(self.type))
        return f"TreeSpec({name}, {self._context}, [{inside}])"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, TreeSpec) and self.type is other.type and self._context == other._context
            and self._children == other._children)

    def __hash__(self) -> int:
        return hash((self.type, repr(self._context), tuple(self._children)))


_DICTS = (dict, OrderedDict, defaultdict)
_LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """The description of a single leaf."""
    return _LEAF


def tree_flatten(tree: PyTree, is_leaf: LeafTest = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its nesting.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> leaves, spec = pytree.tree_flatten({"a": 1, "b": (2, None)})
    >>> leaves, spec.num_leaves
    ([1, 2, None], 3)
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: PyTree, is_leaf: LeafTest, leaves: list[Any]) -> TreeSpec:
    if _is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree with these leaves and this nesting.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_unflatten([10, 20], pytree.tree_structure({"a": 1, "b": 2}))
    {'a': 10, 'b': 20}
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError("tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec "
                        f"but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: LeafTest = None) -> Iterator[Any]:
    """The leaves one after the other.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> list(pytree.tree_iter([1, {"a": 2}]))
    [1, 2]
    """
    if _is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: LeafTest = None) -> list[Any]:
    """The leaves of a tree.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_leaves([1, {"a": 2}, (3,)])
    [1, 2, 3]
    """
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: LeafTest = None) -> TreeSpec:
    """The nesting of a tree.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_structure([1, 2]) == pytree.tree_structure([3, 4])
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of a call's arguments.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.arg_tree_leaves(1, [2, 3], key=4)
    [1, 2, 3, 4]
    """
    return [*tree_iter(args), *tree_iter(kwargs)]
