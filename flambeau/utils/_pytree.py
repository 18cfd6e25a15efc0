"""``torch.utils._pytree``: nested containers as a list of leaves and a description of the nesting.

>>> from flambeau.utils import _pytree as pytree
>>> leaves, spec = pytree.tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves
[1, 2, 3]
>>> pytree.tree_unflatten([x * 10 for x in leaves], spec)
{'a': [10, 20], 'b': (30,)}

Lists, tuples, named tuples, dicts (in insertion order), OrderedDict, defaultdict, deque and ``torch.Size``
are containers; ``register_pytree_node`` adds others. Everything else, None included, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..return_types import TYPES
from ..size import Size

PyTree: TypeAlias = Any
Context: TypeAlias = Any
LeafTest: TypeAlias = Callable[[Any], bool] | None
KeyPath: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class MappingKey:
    """A step of a path: into a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What lies there."""
        return mapping[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """A step of a path: into a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What lies there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What lies there."""
        return getattr(obj, self.name)


KeyEntry: TypeAlias = MappingKey | SequenceKey | GetAttrKey


class NodeDef(NamedTuple):
    """How one kind of container is taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
# type -> (name in a dump, context to JSON, JSON to context), where they were given.
SERIALIZED: dict[Any, tuple[str, Any, Any]] = {}


def register_pytree_node(
    cls: Any, flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any], *, serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None,
) -> None:
    """Make instances of ``cls`` containers."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _register(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SERIALIZED[cls] = (serialized_type_name, to_dumpable_context, from_dumpable_context)


def _register_pytree_node(
    cls: Any, flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any], to_str_fn: Any = None,
    maybe_from_str_fn: Any = None, **options: Any,
) -> None:
    """The older name of ``register_pytree_node``."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _register(cls: Any, flatten: Any, unflatten: Any, with_keys: Any) -> None:
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, with_keys)


def register_dataclass(cls: type[Any], *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Make instances of a dataclass containers of their fields."""
    import dataclasses

    dropped = set(drop_field_names or ())
    names = field_names if field_names is not None else [f.name for f in dataclasses.fields(cls)]
    names = [name for name in names if name not in dropped]

    def flatten(x: Any) -> tuple[list[Any], Context]:
        present = [name for name in names if getattr(x, name) is not None]
        missing = [name for name in names if getattr(x, name) is None]
        return [getattr(x, name) for name in present], [present, missing]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        present, missing = context
        return cls(**dict(zip(present, values)), **dict.fromkeys(missing))

    def with_keys(x: Any) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = flatten(x)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
                         flatten_with_keys_fn=with_keys)


# -- the containers that are known from the start -----------------------------------------------------------


def _list_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


def _dict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), getattr(d, name)) for name in d._fields], type(d)


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _deque_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _list_flatten_with_keys(d)[0], d.maxlen


_tuple_flatten, _odict_flatten = _list_flatten, _dict_flatten

_register(tuple, _list_flatten, lambda values, context: tuple(values), _list_flatten_with_keys)
_register(list, _list_flatten, lambda values, context: list(values), _list_flatten_with_keys)
_register(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
_register(namedtuple, _namedtuple_flatten, lambda values, context: context(*values),
          _namedtuple_flatten_with_keys)
_register(OrderedDict, _dict_flatten, lambda values, context: OrderedDict(zip(context, values)),
          _dict_flatten_with_keys)
_register(defaultdict, _defaultdict_flatten,
          lambda values, context: defaultdict(context[0], zip(context[1], values)),
          _defaultdict_flatten_with_keys)
_register(deque, _deque_flatten, lambda values, context: deque(values, maxlen=context),
          _deque_flatten_with_keys)
# As in PyTorch, what comes back is a plain tuple: the leaves need not be sizes any more.
_register(Size, _list_flatten, lambda values, context: tuple(values), _list_flatten_with_keys)


def _register_results(kind: Any) -> None:
    _register(kind, _list_flatten, lambda values, context: kind(*values), _list_flatten_with_keys)


for _kind in TYPES.values():
    _register_results(_kind)


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple, or such a class."""
    cls = obj if isinstance(obj, type) else type(obj)
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and hasattr(cls, "_make")


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether something is an instance of a named tuple class."""
    return not isinstance(obj, type) and is_namedtuple(obj)


def _get_node_type(tree: Any) -> Any:
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple(cls) else cls


def _is_leaf(tree: Any, is_leaf: LeafTest = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


tree_is_leaf = _is_leaf


# -- taking trees apart -------------------------------------------------------------------------------------


class TreeSpec:
    """The nesting of a tree without its leaves."""

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
        """Whether this describes a single leaf."""
        return self.type is None

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The parts of ``tree`` in the places of this description's leaves."""
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
        """The tree with these leaves."""
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
    """The leaves of a tree, and its nesting."""
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
    """The tree with these leaves and this nesting."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError("tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec "
                        f"but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: LeafTest = None) -> Iterator[Any]:
    """The leaves one after the other."""
    if _is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: LeafTest = None) -> list[Any]:
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: LeafTest = None) -> TreeSpec:
    """The nesting of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of a call's arguments."""
    return [*tree_iter(args), *tree_iter(kwargs)]


from ._pytree_maps import (  # noqa: E402
    _broadcast_to_and_flatten,
    key_get,
    keystr,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    treespec_dumps,
    treespec_loads,
)

__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
    "SUPPORTED_NODES", "SequenceKey", "TreeSpec", "_broadcast_to_and_flatten", "arg_tree_leaves",
    "is_namedtuple", "is_namedtuple_instance", "key_get", "keystr", "map_only", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
    "treespec_dumps", "treespec_loads",
]  # fmt: skip
