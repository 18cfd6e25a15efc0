"""Nested containers: taking apart, putting together, mapping, paths, dumps."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from flambeau.utils import _pytree as pytree

Pair = collections.namedtuple("Pair", "a b")
TREE: dict[str, Any] = {
    "b": [1, (2, None)],
    "n": Pair(1, [2]),
    "o": collections.OrderedDict(x=1),
    "d": collections.defaultdict(list, {"k": [5]}),
    "q": collections.deque([1, 2], maxlen=3),
}


def test_flatten_and_unflatten() -> None:
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, None, 1, 2, 1, 5, 1, 2]
    assert pytree.tree_unflatten(leaves, spec) == TREE
    assert spec.num_leaves == 9 and spec == pytree.tree_structure(TREE)
    again = pytree.tree_unflatten(leaves, spec)
    assert again["q"].maxlen == 3 and again["d"].default_factory is list and isinstance(again["n"], Pair)


def test_a_leaf_is_its_own_tree() -> None:
    assert pytree.tree_flatten(3) == ([3], pytree.LeafSpec())
    assert pytree.tree_leaves([1, [2, 3]], is_leaf=lambda x: x == [2, 3]) == [1, [2, 3]]


def test_map_over_several_trees() -> None:
    assert pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": 2}, {"y": [5], "x": 3}) == {
        "x": (1, 3),
        "y": (2, [5]),
    }
    assert pytree.tree_map_only(str, str.upper, ["a", 1]) == ["A", 1]


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (([1, 2], [1]), "Node arity mismatch; expected 2, but got 1."),
        (([1], (1,)), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
        (({"x": 1}, {"z": 1}), "Node keys mismatch; missing key(s): {'x'}; extra key(s): {'z'}."),
    ],
)
def test_trees_that_do_not_match(trees: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        pytree.tree_map(lambda a, b: a, *trees)
    assert str(error.value) == message


def test_paths() -> None:
    found = [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path(TREE)]
    assert found[:2] == [("['b'][0]", 1), ("['b'][1][0]", 2)] and (".b[0]" in found[4][0])
    path, leaf = pytree.tree_leaves_with_path(TREE)[6]
    assert pytree.key_get(TREE, path) == leaf


def test_repr_and_dump() -> None:
    spec = pytree.tree_structure({"b": [1, (2,)]})
    assert repr(spec) == "TreeSpec(dict, ['b'], [TreeSpec(list, None, [*,\n    TreeSpec(tuple, None, [*])])])"
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_own_containers() -> None:
    class Box:
        def __init__(self, x: Any) -> None:
            self.x = x

    pytree.register_pytree_node(Box, lambda box: ([box.x], None), lambda values, context: Box(*values))
    assert pytree.tree_map(lambda x: x * 2, Box([1, 2])).x == [2, 4]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, lambda box: ([], None), lambda values, context: Box(None))
    del pytree.SUPPORTED_NODES[Box]


def test_broadcasting_a_prefix() -> None:
    spec = pytree.tree_structure([[0, 0], 0])
    assert pytree._broadcast_to_and_flatten([1, 2], spec) == [1, 1, 2]
    assert pytree._broadcast_to_and_flatten((1, 2), spec) is None
