"""Tensors are written natively as Python writes them (Note: native recording)."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import flambeau as torch
from flambeau.graph import pending
from flambeau.operators.creation import creation
from flambeau.operators.pointwise import arithmetic, division
from flambeau.operators.spellings import dunders
from flambeau.tensor import Tensor
from flambeau.tensor.aliasing import inplace
from tests.engine.native_ways import NATIVE, PYTHON

write = NATIVE["write_whole"]
MUL, ADD, FULL = arithmetic.MUL, arithmetic.ADD, creation.FULL


def known(operator, operands, attributes=()):
    """Let the signature be known."""
    PYTHON["record"](operator, operands, attributes)


def test_a_write_is_the_next_version_of_the_storage():
    x, y = torch.ones(2, 3), torch.full((2, 3), 2.0)
    known(ADD, (x, y))
    node, storage = x._storage.node, x._storage

    def function():
        return write(ADD, x, (x, y))
    done = function()       # the line that calls an operator's function
    references = sys.getrefcount(storage.node)
    assert done is True and references == 3     # that of the storage, the list, and the call
    assert x._storage is storage and storage.version == 1 and pending.nodes[-1] is storage.node
    assert storage.node.operands == (node, y._storage.node) and storage.node.site[0] is sys._getframe().f_code
    assert x.tolist() == [[3.0] * 3] * 2 and not x.requires_grad


WRITTEN = {
    "a number": lambda x: write(MUL, x, (x, 2.5)),
    "itself": lambda x: write(MUL, x, (x, x)),
    "filled": lambda x: write(FULL, x, (7.0,), (x._geometry,)),
    "a parameter": lambda x: write(MUL, x, (x, torch.nn.Parameter(torch.ones(2, 3)))),
    "broadcast": lambda x: write(ADD, x, (x, torch.ones(3))),
    "a part of another": lambda x: write(ADD, x, (x, torch.ones(4, 3)[1:3])),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_what_is_written_is_what_the_operator_gives(name, mode):
    with getattr(torch, mode)():
        x = torch.full((2, 3), 3.0) if mode == "no_grad" else torch.full((2, 3), 3.0).clone()
        x._counter = None
        for operands in ((x, 2.5), (x, x), (x, torch.ones(3)), (x, torch.ones(4, 3)[1:3])):
            known(MUL, operands)
            known(ADD, operands)
        known(FULL, (7.0,), (x._geometry,))
        assert WRITTEN[name](x)
        assert x.tolist() == {"a number": [[7.5] * 3] * 2, "itself": [[9.0] * 3] * 2,
                              "filled": [[7.0] * 3] * 2, "a parameter": [[3.0] * 3] * 2,
                              "broadcast": [[4.0] * 3] * 2, "a part of another": [[4.0] * 3] * 2}[name]


def exposed():
    x = torch.ones(2, 3)
    x.numpy()
    return x


def inferred():
    with torch.inference_mode():
        return torch.ones(2, 3)


LEFT = {
    "a view": lambda: (torch.ones(3, 3)[:2], 2.0),
    "seen outside": lambda: (exposed(), 2.0),
    "an inference tensor": lambda: (inferred(), 2.0),
    "a leaf that wants gradients": lambda: (torch.ones(2, 3, requires_grad=True), 2.0),
    "a result that wants gradients": lambda: (torch.ones(2, 3, requires_grad=True) * 2, 2.0),
    "by what wants gradients": lambda: (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)),
    "of another shape": lambda: (torch.ones(3), torch.ones(2, 3)),
    "of another type": lambda: (torch.ones(2, 3, dtype=torch.int64), 2.5),
    "what came of data": lambda: (torch.ones(2, 3).data, 2.0),
    "no number": lambda: (torch.ones(2, 3), "2"),
    "on meta": lambda: (torch.ones(2, 3, device="meta"), 2.0),
    "a conjugate": lambda: (torch.ones(2, 3, dtype=torch.complex64).conj(), 2.0),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_writes_are_left_to_python(name):
    x, other = LEFT[name]()
    if name != "no number":
        known(MUL, (x, other))
    before = len(pending.nodes)
    assert write(MUL, x, (x, other)) is False
    assert len(pending.nodes) == before
    assert PYTHON["write_whole"](MUL, x, (x, other)) is False


def test_a_part_of_what_is_written_is_refused_as_ever():
    x = torch.arange(9.0).reshape(3, 3)
    known(ADD, (x, x.t()))
    assert not write(ADD, x, (x, x.t()))
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        x.add_(x.t())


@pytest.mark.parametrize("statement", [
    "x.add_(y)", "x.sub_(y)", "x.mul_(0.5)", "x.div_(y)", "x += y", "x -= 1", "x *= y", "x /= 2", "x.zero_()",
    "x.fill_(1.5)", "x.neg_()", "x.exp_()", "x.masked_fill_(y > 2, 9.0)", "x[y > 2] = 9.0", "x.clamp_(0, 2)",
    "x.copy_(y)", "x[1] = 5.0", "x[:, 1] = y[:, 0]", "x[0:2] = 7", "x.add_(y, alpha=2)", "x.sigmoid_()"])
def test_methods_write_what_they_write_in_python(statement, monkeypatch):
    found = []
    for table in (PYTHON, NATIVE):
        for module in [*sys.modules.values()]:
            for name in ("write_whole", "record_value"):
                if module.__name__.startswith("flambeau.") and name in vars(module) \
                        and not module.__name__.endswith(".writing"):
                    monkeypatch.setattr(module, name, table[name])
        x, y = torch.arange(6.0).reshape(2, 3).clone(), torch.arange(1.0, 7.0).reshape(2, 3)
        versions = []
        for _ in range(2):
            exec(statement, {"x": x, "y": y})
            versions.append(x._version)
        found.append((x.tolist(), versions))
    assert found[0] == found[1]


def test_a_leaf_is_not_written_with_a_history():
    x = torch.ones(3, requires_grad=True)
    x.data.mul_(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.mul_(2)
    with torch.no_grad():
        x.mul_(2)
    assert x.tolist() == [4.0] * 3 and x._version == 1


def test_what_was_saved_and_then_written_is_noticed():
    x, y = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    z = x * y
    known(MUL, (y, 3.0))
    assert write(MUL, y, (y, 3.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_division_by_zero_is_refused_at_its_line():
    x = torch.ones(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x //= 0
    assert division.TRUE_DIVIDE is not None and dunders is not None


def test_values_are_recorded_as_in_python():
    x = torch.ones(2, 3)
    part = x[0]._geometry
    value = torch.full((3,), 4.0)
    recorded = [table["record_value"](inplace.WRITE, x._storage, given, (part,))
                for given in (value, 2.5) for table in (PYTHON, PYTHON, NATIVE)]
    for expected, found in (recorded[1:3], recorded[4:6]):
        assert (found.signature, found.value) == (expected.signature, None)
        assert [*map(id, found.operands)] == [*map(id, expected.operands)]
        assert found in pending.nodes
    assert NATIVE["record_value"](inplace.WRITE, exposed()._storage, 2.5, (part,)) is not None


def test_references_are_let_go_of():
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    part = x[0]._geometry
    known(ADD, (x, y))
    held = [x, y, x._storage, y._storage, x._geometry, ADD, True, False, None, Tensor, inplace.WRITE]

    def steps(count):
        for _ in range(count):
            write(ADD, x, (x, y))
            write(ADD, x, (x, "y"))
            write(MUL, x[:1], (x, 2.0))
            NATIVE["record_value"](inplace.WRITE, x._storage, 2.5, (part,))
        torch.synchronize()
        gc.collect()

    for _ in range(3):
        steps(100)
    before = [*map(sys.getrefcount, held)]
    steps(300)
    assert max(abs(a - b) for a, b in zip(before, map(sys.getrefcount, held))) < 100
    assert np.isfinite(x.numpy()).all()
