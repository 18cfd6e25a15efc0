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

from ._pytree_maps import (
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
    treespec_pprint,
)
from ._pytree_nodes import (  # noqa: F401 (libraries reach for some private names)
    SERIALIZED,
    SUPPORTED_NODES,
    Context,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    LeafTest,
    MappingKey,
    NodeDef,
    PyTree,
    SequenceKey,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _register_pytree_node,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_dataclass,
    register_pytree_node,
)
from ._pytree_spec import (  # noqa: F401
    LeafSpec,
    TreeSpec,
    _get_node_type,
    _is_leaf,
    arg_tree_leaves,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
    "SUPPORTED_NODES", "SequenceKey", "TreeSpec", "_broadcast_to_and_flatten", "arg_tree_leaves",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance", "key_get", "keystr", "map_only", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
    "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip
