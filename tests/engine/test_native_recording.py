"""Native recording makes what Python's ``record`` makes (Note: native recording)."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau.graph import pending
from flambeau.graph.geometry import Geometry
from flambeau.operators.creation import creation
from flambeau.operators.normalization import layer_normalization
from flambeau.operators.pointwise import arithmetic, binary_exponent
from flambeau.operators.products import linear
from flambeau.operators.reductions import extrema, sorting, statistics
from flambeau.operators.shapes import joining
from flambeau.tensor import Tensor
from tests.engine.native_ways import NATIVE, PYTHON, native_record

MUL, ADD, RSUB, CAT = arithmetic.MUL, arithmetic.ADD, arithmetic.RSUB, joining.CAT


def test_every_place_of_the_table_is_taken():
    assert native_record.table().all()


def leaf(*shape):
    return torch.ones(*shape or (2, 3), requires_grad=True)


def made(table, name, *arguments):
    """What one of the ways makes, called as an operator's function calls it."""
    def function():
        return table[name](*arguments)
    return function()


def described(x):
    """All that can be said of a result without a look."""
    fn, node = x._grad_fn, x._storage.node
    about = None
    if fn is not None:
        about = (type(fn), fn.signature, fn.plan, fn.numbers, fn.edges, fn.hooks, fn.trace,
                 [x if isinstance(x, (Tensor, int, type(None))) else type(x) for x in fn.saved])
    operands = [operand if isinstance(operand, float) else id(operand) for operand in node.operands]
    return (type(x), x._geometry, x._requires_grad, x._counter, x._base, about, node.signature, node.value,
            operands, node.site, x._storage.version, x._storage.exposed, x._storage.geometry,
            x._storage.owner,
            sys.getrefcount(node), sys.getrefcount(x._storage), sys.getrefcount(x))


def cases():
    a, b, plain, several = leaf(), leaf(), torch.ones(2, 3), (leaf() * 2).chunk(2, 0)
    yield "leaves", "record_pair", (MUL, a, b)
    yield "one leaf", "record_pair", (ADD, plain, a)
    yield "no leaf", "record_pair", (ADD, plain, plain)
    yield "itself", "record_pair", (MUL, a, a)
    yield "broadcast", "record_pair", (MUL, a, leaf(3))
    yield "result", "record_pair", (MUL, a * 2, b)
    yield "attributes", "record_pair", (CAT, a, b, (0, None))
    yield "view", "record_pair", (MUL, (a * 2).t(), leaf(3, 2))
    yield "view of a leaf", "record_pair", (MUL, a.t(), leaf(3, 2))
    yield "one of several", "record_pair", (MUL, several[1], leaf(1, 3))
    yield "parameter", "record_pair", (MUL, torch.nn.Parameter(torch.ones(2, 3)), a)
    yield "detached", "record_pair", (MUL, a.detach(), a.data)
    yield "number", "record_scaled", (MUL, a, 2.5)
    yield "number before", "record_scaled", (RSUB, a, 1)
    yield "number, no leaf", "record_scaled", (MUL, plain, True)
    yield "one", "record_one", (torch.sigmoid.operator, a)
    yield "one, kept", "record_one", (torch.tanh.operator, a * 2)
    yield "three", "record_three", (linear.LINEAR, leaf(4, 3), leaf(5, 3), leaf(5))
    yield "three, one of them none", "record_three", (linear.LINEAR, leaf(4, 3), torch.ones(5, 3), None)
    yield "general", "record", (MUL, (a, b))
    yield "general, number first", "record", (MUL, [2.0, a])
    yield "general, attributes", "record", (CAT, [a, b, plain], (1, None))


CASES = {name: (way, arguments) for name, way, arguments in cases()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["usual", "no_grad", "inference"])
def test_native_code_makes_what_python_makes(name, mode):
    way, arguments = CASES[name]
    with {"usual": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}[mode]():
        made(PYTHON, way, *arguments)       # its signature and plan are known from now on
        expected, found = made(PYTHON, way, *arguments), made(NATIVE, way, *arguments)
    assert described(found) == described(expected)
    assert pending.nodes[-1] is found._storage.node
    if expected.grad_fn is not None:
        assert found.grad_fn.sequence == expected.grad_fn.sequence + 1
    assert torch.equal(found.detach(), expected.detach())


@pytest.mark.parametrize("mode", ["usual", "no_grad", "inference"])
def test_factories_give_what_they_give_in_python(mode, monkeypatch):
    def full():
        return torch.full((2, 3), 2.5)

    with {"usual": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}[mode]():
        found = []
        for table in (PYTHON, PYTHON, NATIVE):
            monkeypatch.setattr(creation, "record_numbers", table["record_numbers"])
            found.append(full())
            assert pending.nodes[-1] is found[-1]._storage.node
    _, expected, native = map(described, found)
    assert native == expected and native[9][0] is full.__code__
    assert found[2].tolist() == [[2.5] * 3] * 2


SEVERAL = {
    "of a leaf": (extrema.MAX_DIM, [leaf()], (0, False)),
    "of a result": (extrema.MAX_DIM, (leaf() * 2,), (1, True)),
    "of a view": (sorting.SORT, ((leaf() * 2).t(),), (1, True, False)),
    "of no leaf": (sorting.TOPK, [torch.ones(2, 3)], (2, 1, True, True)),
    "all with a history": (statistics.VAR_MEAN, [leaf()], ((1,), False, 1)),
    "some kept": (layer_normalization.LAYER_NORM, [leaf(), leaf(3), None, 1e-5], ((1,),)),
    "of one of several": (statistics.VAR_MEAN, [leaf().sort().values], ((0,), False, 1)),
    "of another": (statistics.VAR_MEAN, [torch.var_mean(leaf(), 1, keepdim=True)[1]], ((0,), False, 1)),
    "the first of them": (binary_exponent.FREXP, [leaf()], ()),
}


def described_several(outs):
    """All that can be said of several results without a look."""
    parts = [x._storage.node for x in outs]
    node, = {id(part.operands[0]): part.operands[0] for part in parts}.values()
    assert pending.nodes[-1 - len(outs):] == [node, *parts]
    fns = {id(x._grad_fn): x._grad_fn for x in outs if x._grad_fn is not None}
    about = [(type(fn), fn.signature, fn.plan, fn.numbers, fn.edges, fn.hooks, fn.trace,
              [kept is outs[1]._storage or type(kept) for kept in fn.saved]) for fn in fns.values()]
    assert len(about) <= 1
    each = [(type(x), x._geometry, x._requires_grad, x._grad_fn is None, x._output_nr, x._counter, x._base,
             part.signature, part.value, len(part.operands), part.site, x._storage.version,
             x._storage.exposed, x._storage.geometry, x._storage.owner, sys.getrefcount(x._storage))
            for x, part in zip(outs, parts)]
    return (type(outs), each, about, node.signature, [*map(id, node.operands)], node.value, node.site,
            sys.getrefcount(node), [*map(sys.getrefcount, outs)])


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("mode", ["usual", "no_grad", "inference"])
def test_several_results_are_those_that_python_makes(name, mode):
    operator, operands, attributes = SEVERAL[name]
    with {"usual": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}[mode]():
        made(PYTHON, "record", operator, operands, attributes)
        expected = described_several(made(PYTHON, "record", operator, operands, attributes))
        found = made(NATIVE, "record", operator, operands, attributes)
        assert described_several(found) == expected
    again = made(PYTHON, "record", operator, operands, attributes)
    assert all(torch.equal(x.detach(), y.detach()) for x, y in zip(found, again))
    if mode == "usual" and found[0].requires_grad:
        found[0].sum().backward()


@pytest.mark.parametrize("tape", [True, False])
@pytest.mark.parametrize("enough", [1, 2, 3, None])
def test_as_many_results_as_are_enough(tape, enough):
    operands, attributes = (torch.ones(2, 3, requires_grad=tape),), (0, False)
    made(PYTHON, "record", extrema.MAX_DIM, operands, attributes)
    expected, found = [made(table, "record", extrema.MAX_DIM, operands, attributes, enough)
                       for table in (PYTHON, NATIVE)]
    assert len(found) == len(expected) == (2 if tape or enough is None else min(enough, 2))
    assert [x.tolist() for x in found] == [x.tolist() for x in expected] == [[1.0] * 3, [0] * 3][:len(found)]
    assert found[0].requires_grad is expected[0].requires_grad is tape


def test_several_results_on_meta_are_recorded_as_ever():
    x = torch.ones(2, 3, device="meta")
    values, places = made(NATIVE, "record", extrema.MAX_DIM, [x], (0, False))
    assert values.device.type == places.device.type == "meta" and values.shape == (3,)


def test_references_are_let_go_of():
    a, b = leaf(), leaf()
    held = [a, b, a._storage, a._geometry, MUL, None, True, False, (), Tensor, MUL.grad_class, Geometry]
    for way, arguments in [("record_pair", (MUL, a, b)), ("record_scaled", (MUL, a, 2.5)),
                           ("record", (MUL, [a, b])), ("record_pair", (CAT, a, b, (0, None))),
                           ("record", (extrema.MAX_DIM, [a], (0, False)))]:
        for _ in range(3):
            made(NATIVE, way, *arguments)
        torch.synchronize()
        gc.collect()        # what other tests left refers to these, too
        before = [*map(sys.getrefcount, held)]
        for _ in range(500):
            made(NATIVE, way, *arguments)
        torch.synchronize()
        gc.collect()
        after = [*map(sys.getrefcount, held)]
        assert max(abs(x - y) for x, y in zip(before, after)) < 100


def test_blocks_of_memory_are_let_go_of():
    a = leaf()
    views = (a * 2).chunk(2, 0)

    def rounds(count):
        for _ in range(count):
            made(NATIVE, "record_pair", MUL, *views)
            made(NATIVE, "record_scaled", MUL, a, 2.5)
            made(NATIVE, "record_one", torch.tanh.operator, a)
            made(NATIVE, "record", extrema.MAX_DIM, (views[0],), (0, False))
            if len(pending.nodes) > 40:
                torch.synchronize()
        torch.synchronize()

    rounds(2000)
    before = sys.getallocatedblocks()
    rounds(4000)
    assert sys.getallocatedblocks() - before < 1000


def test_what_is_unusual_is_recorded_as_ever():
    a, b = leaf(), leaf()
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: seen.append(x) or x, lambda x: x):
        found = made(NATIVE, "record_pair", MUL, a, b)
    assert len(seen) == 2
    found.sum().backward()
    assert torch.equal(a.grad, b)
    shared = torch.ones(2, 3)
    array = shared.numpy()
    later = made(NATIVE, "record_pair", ADD, shared, shared)
    array[:] = 5
    assert later.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError, match="must match"):
        made(NATIVE, "record_pair", ADD, leaf(), leaf(2, 5))
    with pytest.raises(TypeError):
        NATIVE["record_pair"](ADD)
    values, _ = made(NATIVE, "record", extrema.MAX_DIM, [a], (0, False))
    assert values.tolist() == [1.0] * 3


def test_a_written_view_has_its_new_history():
    a = leaf()
    x = a * 2
    view = x[0]
    x.mul_(3)
    found = made(NATIVE, "record_pair", MUL, view, view)
    found.sum().backward()
    assert torch.equal(a.grad, torch.tensor([[72.0] * 3, [0.0] * 3]))


def test_inference_tensors_are_not_saved():
    with torch.inference_mode():
        x = torch.ones(2, 3)
    made(PYTHON, "record_pair", MUL, torch.ones(2, 3), leaf())
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        made(NATIVE, "record_pair", MUL, x, leaf())


def test_whoever_asks_is_asked():
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **kwargs or {})

    a = leaf()
    with Mode():
        made(NATIVE, "record_pair", MUL, a, a)
    assert seen
    seen.clear()
    made(NATIVE, "record_pair", MUL, a, a)
    assert not seen


def test_steps_that_come_back_are_recorded_natively():
    script = (
        "import sys, flambeau as torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "x, losses = torch.randn(4, 8), []\n"
        "for _ in range(12):\n"
        "    optimizer.zero_grad()\n"
        "    loss = (model(x) - x).square().mean()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    losses.append(loss.item())\n"
        "assert losses[-1] < losses[0]\n"
        "print(type(sys.modules['flambeau.operators.spellings.dunders'].record_pair).__name__)\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "FLAMBEAU_TIER": "native"})
    assert done.stdout.strip() == "builtin_function_or_method", done.stderr


def test_several_results_get_their_history_without_python():
    seen = []
    arguments = layer_normalization.LAYER_NORM, [leaf(), leaf(3), leaf(3), 1e-5], ((1,),)
    made(NATIVE, "record", *arguments)
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name))
    try:
        outs = made(NATIVE, "record", *arguments)
    finally:
        sys.setprofile(None)
    assert all(x.requires_grad for x in outs) and "attach" not in seen


@pytest.mark.parametrize("templates", [True, False])
def test_a_debugger_meets_python(templates):
    """Without backward templates everything is recorded where one can step through it."""
    a, b, seen = leaf(), leaf(), []
    made(NATIVE, "record_pair", MUL, a, b)      # from now on its signature is known
    with torch.config.backward_templates(templates):
        sys.setprofile(lambda frame, event, _: seen.append(frame.f_code))
        try:
            made(NATIVE, "record_pair", MUL, a, b)
        finally:
            sys.setprofile(None)
    assert (PYTHON["record_pair"].__code__ in seen) is not templates
