"""The table of PyTorch's signatures, against what the functions take."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from inspect import Parameter, unwrap
from types import ModuleType

import pytest

from flambeau.operators.calls import signatures
from flambeau.operators.declaration import registry
from flambeau.operators.declaration.registry import NAMESPACES
from flambeau.tensor import Tensor
from flambeau.utils import _dispatch_calls

# What functions here take beside those of PyTorch: their namesakes in nn.functional take it, or messages call
# it by another name.
MORE = frozenset(("out", "names", "size_average", "reduce", "return_indices", "axis", "indices_or_sections",
                  "from_"))


def _known() -> Iterator[tuple[str, signatures.Signatures]]:
    """Every name of the file and what it says of it."""
    for namespace, name in sorted(signatures.names()):
        known = signatures.signatures_of(namespace, name)
        assert known is not None
        yield f"{namespace}.{name}", known


def _tables() -> Iterator[tuple[str, Parameter, set[str]]]:
    for key, known in _known():
        namespace, name = key.rsplit(".", 1)
        function = NAMESPACES[namespace].get(name)
        rows = [row for row in known.rows if not row.startswith("*")]
        if known.python or function is None or len(rows) < len(known.rows):
            continue
        taken = {p.name for row in rows for p in signatures.parameters_of(row)}
        for parameter in inspect.signature(unwrap(function)).parameters.values():
            yield key, parameter, taken


def test_no_name_is_told_of_twice() -> None:
    """The first one that is found counts."""
    heads = [line.partition(" as ")[0].split() for line in signatures._text().splitlines()
             if line[0] not in "# "]
    assert len(signatures.names()) == sum(len(head) - 1 for head in heads)


def test_no_option_is_unknown() -> None:
    """An option that a row lacks would be refused though the function takes it."""
    unknown = {f"{key}({p.name})" for key, p, taken in _tables()
               if p.name not in taken | MORE and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
               and p.default is not p.empty}
    assert not unknown


@pytest.mark.parametrize("call", [
    "torch.linalg.solve_triangular(torch.eye(2), torch.ones(2, 2), upper=True, left=False)",
    "torch.linalg.solve_triangular(torch.eye(2), torch.ones(2, 2), upper=True, unitriangular=True)",
    "torch.linalg.solve_triangular(torch.eye(2), torch.ones(2, 2), upper=True, out=torch.empty(2, 2))",
    "torch.nonzero_static(torch.ones(2), size=3, fill_value=7)[:2, 0] + 1",
])
def test_right_calls_are_taken(torch: ModuleType, call: str) -> None:
    assert eval(call, {"torch": torch}).sum().item() in (3, 4)


def test_norms_may_be_named(torch: ModuleType) -> None:
    x = torch.ones(2, 2)
    assert torch.norm(x, p="fro").item() == x.norm("fro").item() == torch.norm(x[None], p="fro").item() == 2
    assert torch.norm(x, p="nuc").item() == pytest.approx(2)
    with pytest.raises(TypeError, match=r"argument 'ord' \(position 2\) must be Number, not list"):
        torch.norm(x, [1])


def test_lists_name_functions_that_are_there() -> None:
    assert _dispatch_calls.COMPOSED <= {name for table in NAMESPACES.values() for name in table}


def _outermost(namespace: str, name: str) -> str:
    return str(NAMESPACES[namespace][name].__code__.co_name)


def test_definitions_say_when_arguments_are_judged() -> None:
    @registry.api("torch", "Tensor", aliases=("_other",), judge="never")
    def _one(input: object) -> None: ...

    @registry.api("torch", "Tensor", aliases=("_other_method",), judge="function")
    def _method(input: object) -> None: ...

    @registry.api("torch", out=True, judge="first")
    def _strict(input: object) -> None: ...

    added = [(namespace, name) for namespace in ("torch", "Tensor") for name in
             ("_one", "_other", "_method", "_other_method", "_strict") if name in NAMESPACES[namespace]]
    try:
        found = {f"{namespace}.{name}": _outermost(namespace, name) for namespace, name in added}
        assert found.pop("torch._one") == found.pop("Tensor._one") == "_one"
        assert found.pop("Tensor._method") == "_method"
        assert set(found.values()) == {"checked"}       # judged first or late
    finally:
        for namespace, name in added:
            del NAMESPACES[namespace][name]
            if namespace == "Tensor":
                delattr(Tensor, name)


def test_rows_of_python_functions_tell_of_their_parameters() -> None:
    """Of a name that the function does not have a row would never be asked."""
    unknown = []
    for key, known in _known():
        namespace, name = key.rsplit(".", 1)
        if known.python and not known.rows[0].startswith("*"):
            names = (*unwrap(NAMESPACES[namespace][name]).__code__.co_varnames, "out")
            unknown += [f"{key}: {row}" for row in known.rows if row.split()[0].rstrip("?") not in names]
    assert not unknown
