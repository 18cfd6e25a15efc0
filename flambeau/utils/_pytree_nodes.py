"""The containers that trees are made of, and how users add others (see ``_pytree``)."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
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
    """A step of a path: into a mapping.

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> pytree.tree_leaves_with_path({"a": 5})
    [((MappingKey(key='a'),), 5)]
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What lies there.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.MappingKey("a").get({"a": 3})
        3
        """
        return mapping[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """A step of a path: into a sequence.

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> pytree.tree_leaves_with_path([5])
    [((SequenceKey(idx=0),), 5)]
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What lies there.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.SequenceKey(1).get([5, 6])
        6
        """
        return sequence[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What lies there.

        >>> import flambeau as torch
        >>> pytree = torch.utils._pytree
        >>> pytree.GetAttrKey("real").get(3 + 4j)
        3.0
        """
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
    """Make instances of ``cls`` containers.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, context: Pair(*items))
    >>> pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
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
    """Make instances of a dataclass containers of their fields.

    >>> import flambeau as torch
    >>> import dataclasses
    >>> pytree = torch.utils._pytree
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> pytree.register_dataclass(Point)
    >>> pytree.tree_map(lambda n: 2 * n, Point(1, 2)).y
    4
    """
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


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values))


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    return defaultdict(context[0], zip(context[1], values))


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


_tuple_flatten, _odict_flatten, _ordereddict_flatten = _list_flatten, _dict_flatten, _dict_flatten
_tuple_flatten_with_keys, _ordereddict_flatten_with_keys = _list_flatten_with_keys, _dict_flatten_with_keys
_odict_unflatten = _ordereddict_unflatten

_register(tuple, _list_flatten, _tuple_unflatten, _list_flatten_with_keys)
_register(list, _list_flatten, _list_unflatten, _list_flatten_with_keys)
_register(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
_register(namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys)
_register(OrderedDict, _dict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys)
_register(defaultdict, _defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys)
_register(deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys)
# As in PyTorch, what comes back is a plain tuple: the leaves need not be sizes any more.
_register(Size, _list_flatten, _tuple_unflatten, _list_flatten_with_keys)


def _register_results(kind: Any) -> None:
    _register(kind, _list_flatten, lambda values, context: kind(*values), _list_flatten_with_keys)


for _kind in TYPES.values():
    _register_results(_kind)


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple, or such a class.

    >>> import flambeau as torch
    >>> import collections
    >>> pytree = torch.utils._pytree
    >>> Point = collections.namedtuple("Point", "x y")
    >>> pytree.is_namedtuple(Point), pytree.is_namedtuple(Point(1, 2)), pytree.is_namedtuple((1, 2))
    (True, True, False)
    """
    cls = obj if isinstance(obj, type) else type(obj)
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and hasattr(cls, "_make")


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether something is an instance of a named tuple class.

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> from collections import namedtuple
    >>> pytree.is_namedtuple_instance(namedtuple("P", "x y")(1, 2))
    True
    """
    return not isinstance(obj, type) and is_namedtuple(obj)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether something is the class of a named tuple.

    >>> import flambeau as torch
    >>> from flambeau.utils import _pytree as pytree
    >>> from collections import namedtuple
    >>> pytree.is_namedtuple_class(namedtuple("P", "x y")), pytree.is_namedtuple_class(tuple)
    (True, False)
    """
    return isinstance(cls, type) and is_namedtuple(cls)


def is_structseq(obj: Any) -> bool:
    """Whether something is a tuple with names such as ``torch.return_types.max``, or such a class.

    >>> import flambeau as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.is_structseq(torch.ones(2).max(0)), pytree.is_structseq((1, 2))
    (True, False)
    """
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and all(
        isinstance(getattr(cls, name, None), int)
        for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))


def is_structseq_class(cls: Any) -> bool:
    """Whether something is such a class."""
    return isinstance(cls, type) and is_structseq(cls)


def is_structseq_instance(obj: Any) -> bool:
    """Whether something is an instance of such a class."""
    return not isinstance(obj, type) and is_structseq(obj)
