"""Native views are those that Python's ``view`` makes (Note: native recording)."""

from __future__ import annotations

import gc
import importlib
import sys

import pytest

import flambeau as torch
from flambeau.graph import pending
from flambeau.operators.indexing import subscripts
from flambeau.operators.shapes import expanding, slicing, splitting, transposing
from flambeau.tensor import Tensor
from flambeau.tensor.aliasing import subscripts as known
from flambeau.tensor.aliasing import views
from tests.engine.native_ways import NATIVE, PYTHON

MODES = {"usual": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}
SELECT, SLICE, UNSQUEEZE = slicing.SELECT, slicing.SLICE, expanding.UNSQUEEZE


def leaf(*shape):
    return torch.ones(*shape or (2, 3), requires_grad=True)


def inferred():
    with torch.inference_mode():
        return torch.ones(2, 3)


def made_without():
    with torch.no_grad():
        return leaf().t()


def described(x):
    """All that can be said of a view without a look."""
    fn = x._grad_fn
    about = None if fn is None else (
        type(fn), fn.signature, fn.plan, fn.numbers, fn.edges, fn.hooks, fn.trace, fn.saved)
    return (type(x), x._geometry, x._storage, x._requires_grad, x._counter, x._base, x._base_version,
            x._view, x._multiple, x._output_nr, about, sys.getrefcount(x), x.is_inference())


CASES = {
    "of a leaf": (SELECT, leaf(), (0, 1)),
    "of a plain tensor": (UNSQUEEZE, torch.ones(2, 3), (0,)),
    "of a result": (SLICE, leaf() * 2, (0, 0, 1, 1)),
    "of a view": (SELECT, (leaf() * 2).t(), (0, -1)),
    "of a view of a view": (SELECT, torch.ones(2, 3, 4)[0].t(), (0, -1)),
    "of one of several": (SELECT, (leaf() * 2).chunk(2, 0)[1], (1, 0)),
    "of a parameter": (SELECT, torch.nn.Parameter(torch.ones(2, 3)), (0, 0)),
    "of what is detached": (SELECT, leaf().detach(), (0, 0)),
    "of data": (SELECT, leaf().data, (0, 0)),
    "of an inference tensor": (SELECT, inferred(), (0, 0)),
    "of a view made unrecorded": (SELECT, made_without(), (0, 0)),
    "of a conjugate": (SELECT, torch.ones(2, 3, dtype=torch.complex64).conj(), (0, 0)),
    "of integers": (SELECT, torch.ones(2, 3, dtype=torch.int64), (0, 0)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_a_view_is_the_one_that_python_makes(name, mode):
    operator, x, attributes = CASES[name]
    with MODES[mode]():
        PYTHON["view"](operator, x, attributes)     # its signature and plan are known from now on
        before = len(pending.nodes)
        expected, found = [way["view"](operator, x, attributes) for way in (PYTHON, NATIVE)]
        assert len(pending.nodes) == before
        if expected._grad_fn is not None:
            assert found._grad_fn.sequence == expected._grad_fn.sequence + 1
        assert described(found) == described(expected)
    assert torch.equal(found.detach(), expected.detach())


def test_a_view_of_what_was_written_leads_to_its_new_history():
    a = leaf()
    x = a * 2
    row = x[0]
    x.mul_(3)
    found = NATIVE["view"](SELECT, row, (0, 1))
    found.backward()
    assert torch.equal(a.grad, torch.tensor([[0.0, 6.0, 0.0], [0.0] * 3]))


def test_a_native_view_is_written_to_as_a_view():
    a = leaf()
    x = a * 2
    NATIVE["view"](SELECT, NATIVE["view"](transposing.T, x), (0, 1)).mul_(5)
    x.sum().backward()
    assert torch.equal(a.grad, torch.tensor([[2.0, 10.0, 2.0]] * 2))


def test_wrong_arguments_of_views_are_refused():
    with pytest.raises(IndexError):
        NATIVE["view"](SELECT, leaf(), (0, 7))
    with pytest.raises(TypeError):
        NATIVE["view"](SELECT)
    assert NATIVE["view"](SELECT, x=leaf(), attributes=(0, 1)).shape == (3,)


def test_samples_of_a_batch_are_viewed_as_ever():
    found = torch.func.vmap(lambda x: NATIVE["view"](SELECT, x, (0, 1)))(leaf(4, 3))
    assert found.tolist() == [1.0] * 4


@pytest.mark.parametrize("mode", ["hooks", "anomaly"])
def test_views_are_watched(mode):
    a = leaf()
    NATIVE["view"](SELECT, a, (0, 1))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x) if mode == "hooks" \
            else torch.autograd.set_detect_anomaly(True):
        found = NATIVE["view"](SELECT, a, (0, 1))
    assert (found.grad_fn.trace is not None) is (mode == "anomaly")
    found.sum().backward()
    assert a.grad.tolist() == [[0.0] * 3, [1.0] * 3]


# --- histories of what others make --------------------------------------------------------------------------


def test_several_views_have_the_history_that_python_gives_them(monkeypatch):
    x = leaf() * 2
    x.chunk(2, 1)
    found = []
    for way in (PYTHON, NATIVE):
        monkeypatch.setattr(splitting, "attach", way["attach"])
        found.append([described(part) for part in x.chunk(2, 1)])
    assert found[0] == found[1]


def test_a_subclass_gets_its_history_in_python():
    class Named(torch.Tensor):
        pass

    x = leaf().as_subclass(Named)
    outs = (torch.ones(2, 3),)
    signature = (x * 2).grad_fn.signature
    NATIVE["attach"](signature.operator, signature, (x, 2), outs)
    assert outs[0].requires_grad and outs[0].grad_fn.next_functions[0][0] is not None


# --- subscripts ---------------------------------------------------------------------------------------------

KEYS = [
    (0, 1), (0, -1, 2), (slice(None), 0), (slice(1, None), slice(None, 2)), (Ellipsis, 0), (0, Ellipsis),
    (None, 0), (slice(None), None), (Ellipsis, None), (Ellipsis,), (), (slice(None), slice(None)),
    (slice(None, None, 2), 1), (slice(-1, None), Ellipsis, slice(0, 4)), (slice(0, 9), -1), (slice(2, 1), 0),
    (slice(None), 0, None, slice(1, 3)), (0, 0, 0), (Ellipsis, 1, Ellipsis),
]


def ways_of(x):
    """How it is made from its base, step by step."""
    return None if x._base is None or x._view is None else views.chain_of(x)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("of", ["leaf", "plain", "view"])
def test_a_subscript_gives_what_python_gives(key, mode, of, monkeypatch):
    x = {"leaf": leaf(2, 3, 4), "plain": torch.arange(24.0).reshape(2, 3, 4),
         "view": (leaf(2, 4, 3) * 2).transpose(1, 2)}[of]
    with MODES[mode]():
        monkeypatch.setattr(subscripts, "known_view", PYTHON["known_view"])
        expected = x[key]
        monkeypatch.setattr(subscripts, "known_view", NATIVE["known_view"])
        for _ in range(3):
            found = x[key]
        assert NATIVE["known_view"](x, key) is not None
        assert found._geometry is expected._geometry and found._storage is expected._storage
        assert found._base is expected._base and found._counter is expected._counter
        assert found.requires_grad is expected.requires_grad
        names = [None if y.grad_fn is None else (y.grad_fn.name(), y.grad_fn.next_functions[0][0].name())
                 for y in (found, expected)]
        assert names[0] == names[1]
        base = torch.arange(24.0).reshape(x._base.shape if x._base is not None else x.shape)
        for y in (found, expected):
            if (chain := ways_of(y)) is not None:
                assert torch.equal(views.replay(base, chain), views.replay(base, ways_of(expected)))
        assert (ways_of(found) is None) is (ways_of(expected) is None)
        if mode != "inference":
            assert found._base_version == expected._base_version
    if found.grad_fn is not None and mode == "usual":
        gradients = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in (found, expected)]
        assert torch.equal(*gradients)


@pytest.mark.parametrize("key", [
    (0, 0, 0, 0), (5, 0), (0, -9), (True, 0), (0.5, 0), ([0, 1], 0), (torch.tensor([0]), 0), ("a", 0),
    (slice(None, None, 0), 0), (slice(None, None, -1), 0), (slice(0.5), 0), (10**30, 0), (600, 0),
    (slice(10**30), 0), (Ellipsis, 0, 0, 0, 0), (None, 9), (None,) * 40], ids=str)
def test_other_keys_are_left_to_python(key):
    x = torch.ones(2, 3, 4)
    assert NATIVE["known_view"](x, key) is None
    assert PYTHON["known_view"](x, (0, 0)) is None


def test_rows_of_large_tables_are_left_to_python():
    assert NATIVE["known_view"](torch.ones(5000, 2), (7, 0)) is None
    assert NATIVE["known_view"](torch.ones(5000, 2), (slice(None), 1)) is not None


def test_a_program_with_too_many_keys_does_without(monkeypatch):
    x = torch.ones(2, 3)
    monkeypatch.setattr(known.known, "turns", 4)
    assert NATIVE["known_view"](x, (0, slice(1, 3, 1))) is None
    monkeypatch.setattr(known.known, "turns", 0)
    assert NATIVE["known_view"](x, (0, slice(1, 3, 1))).tolist() == [1.0, 1.0]


def test_parts_of_samples_are_left_to_python():
    state = importlib.import_module("flambeau.tensor.tape").state
    x = torch.ones(2, 3)
    state.at_once = object()
    try:
        assert NATIVE["known_view"](x, (0, 0)) is None
    finally:
        state.at_once = None
    assert NATIVE["known_view"](x, (0, 0)) is not None


def test_references_are_let_go_of():
    a, plain = leaf(), torch.ones(2, 3)
    row, key = (a * 2).t(), (slice(None), None, 1)
    of = [a, plain, row, a._storage, a._geometry, SELECT, None, True, False, Ellipsis, slice, Tensor, key]

    def step():
        for x in (a, plain, row):
            NATIVE["view"](SELECT, x, (0, 1))
            NATIVE["known_view"](x, key)
            NATIVE["known_view"](x, (Ellipsis, 0))
        with torch.no_grad():
            NATIVE["view"](UNSQUEEZE, row, (0,))
        NATIVE["known_view"](a, (0.5, 0))
        NATIVE["known_view"](a, (9, 0))

    for _ in range(3):
        step()
    gc.collect()
    before, blocks = [*map(sys.getrefcount, of)], sys.getallocatedblocks()
    for _ in range(500):
        step()
    gc.collect()
    assert max(abs(x - y) for x, y in zip(before, map(sys.getrefcount, of))) < 100
    assert sys.getallocatedblocks() - blocks < 400
