"""What happens where lazy execution could surprise: in every case, what PyTorch does.

Each test states the surprise it guards against. Expected values are written out or come from plain Python,
so the tests need no PyTorch, and pass under it (``--under torch``).
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


def regression(torch: Any, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return a model, its optimizer, inputs (16, 4) and targets (16, 1)."""
    torch.manual_seed(seed)
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.05), torch.randn(16, 4), torch.randn(16, 1)


def step(torch: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """Train once; return the outputs of before the update."""
    optimizer.zero_grad()
    out = model(x)
    torch.nn.functional.mse_loss(out, y).backward()
    optimizer.step()
    return out


def test_an_output_held_across_the_next_step_keeps_its_value(torch: Any) -> None:
    """The parameters are written in place after the output was recorded, before anyone looks at it."""
    model, optimizer, x, y = regression(torch)
    weight, bias = model.weight.detach().numpy().copy(), model.bias.detach().numpy().copy()
    held = step(torch, model, optimizer, x, y)
    for _ in range(5):
        step(torch, model, optimizer, x, y)
    assert np.allclose(held.detach().numpy(), x.numpy() @ weight.T + bias, atol=1e-6)
    assert not np.allclose(weight, model.weight.detach().numpy())


def test_outputs_of_every_step_stay_apart(torch: Any) -> None:
    """One recorded step is run again and again: its results must not share memory."""
    model, optimizer, x, y = regression(torch)
    held = [step(torch, model, optimizer, x, y).detach() for _ in range(6)]
    first = [float(out[0, 0]) for out in held]
    assert len(set(first)) == 6
    held[0].zero_()
    assert [float(out[0, 0]) for out in held[1:]] == first[1:]


def test_the_same_tensor_passed_twice_is_one_operand(torch: Any) -> None:
    """Both operands are written by one in-place operator, and both gradients land in one place."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x + torch.maximum(x, x)).sum().backward()
    assert x.grad.tolist() == [3.0, 5.0]
    a = torch.tensor([1.0, 2.0])
    a.add_(a).mul_(a)
    assert a.tolist() == [4.0, 16.0]

    def combine(p: Any, q: Any) -> Any:
        p.mul_(10)
        return p + q

    b = torch.tensor([1.0])
    assert combine(b, torch.tensor([1.0])).tolist() == [11.0]
    assert combine(b, b).tolist() == [200.0]


def test_overlapping_views_of_one_tensor_as_operands(torch: Any) -> None:
    """An in-place operator reads a shifted view of what it writes: the values of before the write count."""
    a = torch.arange(6.0)
    a[1:].copy_(a[:-1].clone())
    assert a.tolist() == [0, 0, 1, 2, 3, 4]
    b = torch.arange(6.0)
    b[:3] += b[3:]
    assert b.tolist() == [3, 5, 7, 3, 4, 5]


def test_a_branch_that_flips_at_step_1000_is_taken(torch: Any) -> None:
    """A step that was the same a thousand times is not assumed to stay so."""
    x = torch.tensor([1.0])
    for count in range(1, 1004):
        x = x * 1.0 + (1.0 if count < 1000 else 100.0) if count % 2 else x + 0.0
        if count >= 1000:
            x = x - 1000.0
    odd_before, odd_after = 500, 2
    assert x.item() == 1 + odd_before + 100.0 * odd_after - 4 * 1000.0


def test_a_branch_on_a_value_sees_the_value_of_now(torch: Any) -> None:
    """``if loss < threshold`` is decided by each step's own loss."""
    w = torch.tensor(4.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    branches = []
    for _ in range(6):
        loss = w * w if w > 1 else (w - 3) * (w - 3)
        branches.append(bool(w > 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert branches == [True, True, False, True, False, True]
    assert w.item() == pytest.approx(1.0)


def test_a_list_that_grows_is_computed_once_and_right(torch: Any) -> None:
    """The graph of each step is larger than the last one; nothing is left out of the sum."""
    states = [torch.ones(2)]
    for _ in range(60):
        states.append(torch.stack(states).sum(0) / len(states) + 1)
    expected = [1.0]
    for _ in range(60):
        expected.append(sum(expected) / len(expected) + 1)
    assert [float(s[1]) for s in states] == pytest.approx(expected, rel=1e-5)


def test_losses_kept_in_a_list_keep_their_values(torch: Any) -> None:
    """``losses.append(loss)`` without ``item()``: every loss is the one of its step."""
    model, optimizer, x, y = regression(torch)
    losses, looked = [], []
    for _ in range(8):
        out = step(torch, model, optimizer, x, y)
        losses.append(torch.nn.functional.mse_loss(out.detach(), y))
    model, optimizer, x, y = regression(torch)
    for _ in range(8):
        out = step(torch, model, optimizer, x, y)
        looked.append(torch.nn.functional.mse_loss(out.detach(), y).item())
    # A graph that comes back is compiled, which may change the last bits.
    assert [loss.item() for loss in losses] == pytest.approx(looked, rel=1e-5)


def test_a_number_that_becomes_a_tensor(torch: Any) -> None:
    """``total = 0; total += loss`` turns a number into a tensor; a tensor may turn into a number again."""
    total: Any = 0
    seen = []
    for value in (1, 2.5, torch.tensor(3.0), torch.tensor([4.0]), True):
        total = total + value
        seen.append(type(total).__name__)
    assert seen == ["int", "float", "Tensor", "Tensor", "Tensor"] and total.tolist() == [11.5]
    scale: Any = 2.0
    x = torch.ones(3, dtype=torch.float32)
    kept = []
    for _ in range(3):
        kept.append(x * scale)
        scale = torch.tensor(scale * 2) if isinstance(scale, float) else float(scale * 2)
    assert [k[0].item() for k in kept] == [2.0, 4.0, 8.0] and {k.dtype for k in kept} == {torch.float32}


def test_a_number_that_changes_is_not_frozen(torch: Any) -> None:
    """A learning rate, a temperature, an index computed in Python may differ in each step."""
    x = torch.arange(5.0)
    assert [(x * rate + rate)[index].item() for index, rate in enumerate((1, 0.5, 2, -1.0, True))] == [
        1.0,
        1.0,
        6.0,
        -4.0,
        5.0,
    ]
    assert [(x**power).sum().item() for power in (0, 1, 2, 0.5)] == pytest.approx(
        [5, 10, 30, 6.146264], rel=1e-6
    )


def test_a_view_written_after_its_base_was_read(torch: Any) -> None:
    """What was computed from the base stays; what is computed from it later has the write."""
    base = torch.zeros(2, 3)
    column = base[:, 1]
    before = base * 2 + 1
    column += 5
    after = base * 2 + 1
    column.mul_(0)
    assert before.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert after.tolist() == [[1, 11, 1], [1, 11, 1]]
    assert base.sum().item() == 0 and base._version == 2


def test_a_base_written_after_its_view_was_read(torch: Any) -> None:
    """The other way round: the view shows the write, what was computed from it does not."""
    base = torch.arange(4.0)
    view = base[2:]
    kept = view + 0
    base.fill_(9)
    assert kept.tolist() == [2, 3] and view.tolist() == [9, 9]


def test_a_saved_tensor_written_before_backward_is_an_error(torch: Any) -> None:
    """Backward would use the wrong value: it says so instead."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_memory_of_a_reshaped_array_stays_shared_after_it_was_read(torch: Any) -> None:
    """Who holds an array that is a view of another one sees the same memory, as ever."""
    array = (np.arange(6.0) * 2).reshape(2, 3)
    tensor = torch.from_numpy(array)
    assert (tensor * 1).sum().item() == 30
    tensor[1, 1] = 5
    assert array[1, 1] == 5
    array[0, 0] = 7
    assert (tensor * 1)[0, 0].item() == 7


def test_memory_written_from_outside_is_seen(torch: Any) -> None:
    """``from_numpy`` and ``numpy()`` share memory both ways, also with writes that are still to come."""
    array = np.zeros(3, dtype=np.float32)
    tensor = torch.from_numpy(array)
    before = tensor + 1
    array[0] = 5
    after = tensor + 1
    assert before.tolist() == [1, 1, 1] and after.tolist() == [6, 1, 1]
    tensor.add_(10)
    tensor[1:] *= 2
    assert array.tolist() == [15, 20, 20]
    own = torch.ones(3)
    seen = own.numpy()
    own.mul_(4)
    assert seen.tolist() == [4, 4, 4]
    seen[:] = 7
    assert own.tolist() == [7, 7, 7] and (own * 2).tolist() == [14, 14, 14]


def test_torch_tensor_copies_what_it_is_given(torch: Any) -> None:
    """``tensor`` copies, ``as_tensor`` shares: a write from outside tells them apart."""
    array = np.zeros(2)
    copy, shared = torch.tensor(array), torch.as_tensor(array)
    array += 1
    assert copy.tolist() == [0, 0] and shared.tolist() == [1, 1]


def test_an_exception_in_mid_step_leaves_whole_values(torch: Any) -> None:
    """The shapes are wrong in the middle of a step: it raises there, and the next step goes on."""
    model, optimizer, x, y = regression(torch)
    weight = model.weight.detach().clone()
    optimizer.zero_grad()
    hidden = model(x)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(16x1 and 4x1\)"):
        hidden @ torch.randn(4, 1)
    assert torch.equal(model.weight, weight) and model.weight.grad is None
    step(torch, model, optimizer, x, y)
    assert not torch.equal(model.weight, weight) and bool(torch.isfinite(model.weight).all())


def test_an_exception_between_two_writes_keeps_the_first(torch: Any) -> None:
    """What ran before the exception has happened, what stood behind it has not."""
    state = torch.zeros(2)
    with pytest.raises(ValueError, match="stop"):
        state += 1
        raise ValueError("stop")
    assert state.tolist() == [1, 1]
    with pytest.raises(IndexError):
        state.add_(state[5])
    assert state.tolist() == [1, 1]


def test_an_index_out_of_range_raises_and_changes_nothing(torch: Any) -> None:
    """No index is clamped; one that is still to be computed is found at the latest when somebody looks."""
    table = torch.arange(4.0)
    index = torch.tensor([1, 2]) + 3
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        table[index].tolist()
    assert table.tolist() == [0, 1, 2, 3]


def test_an_exception_in_a_backward_hook_passes_through(torch: Any) -> None:
    """The user's exception reaches the caller of backward with its type and text."""
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def refuse(grad: Any) -> None:
        raise KeyError("not today")

    y.register_hook(refuse)
    with pytest.raises(KeyError, match="not today"):
        y.sum().backward()
    assert x.grad is None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.fixture
def _no_callbacks() -> Iterator[None]:
    """Python loses interrupts that come while the garbage collector calls back, as Hypothesis has it do."""
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(callbacks)


# An interrupt may fall into an import, or into another package: what is open then is closed by nobody.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("_no_callbacks")
def test_interruption_leaves_the_last_valid_values(torch: Any) -> None:
    """Ctrl-C anywhere in a training loop: every tensor has a whole value, and training can go on."""
    model, optimizer, x, y = regression(torch)
    counter = torch.zeros(8)
    interruptions = 0

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for attempt in range(12):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.0017 * attempt)
                while True:
                    step(torch, model, optimizer, x, y)
                    counter += 1
            except KeyboardInterrupt:
                interruptions += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            values = counter.tolist()
            assert len(set(values)) == 1 and values[0] == int(values[0])
            assert bool(torch.isfinite(model.weight).all())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interruptions == 12
    step(torch, model, optimizer, x, y)
    loss = torch.nn.functional.mse_loss(model(x), y).item()
    for _ in range(20):
        step(torch, model, optimizer, x, y)
    assert torch.nn.functional.mse_loss(model(x), y).item() <= loss + 1e-6


def test_random_numbers_come_in_program_order(torch: Any) -> None:
    """Numbers are drawn when they are asked for, also those that nobody looks at."""
    torch.manual_seed(5)
    first, unused, third = torch.rand(3), torch.rand(3), torch.rand(3)
    expected = [first.tolist(), unused.tolist(), third.tolist()]
    torch.manual_seed(5)
    a, _, c = torch.rand(3), torch.rand(3), torch.rand(3)
    state = torch.get_rng_state()
    d = torch.rand(3)
    assert [c.tolist(), a.tolist()] == [expected[2], expected[0]]
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(3), d)


def test_a_clone_is_of_now(torch: Any) -> None:
    """The best weights kept with ``deepcopy`` or ``clone`` are not those of the last step."""
    import copy

    model, optimizer, x, y = regression(torch)
    weight = model.weight.tolist()
    best = {name: value.clone() for name, value in model.state_dict().items()}
    twin, alias = copy.deepcopy(model), model.state_dict()
    for _ in range(3):
        step(torch, model, optimizer, x, y)
    assert best["weight"].tolist() == twin.weight.tolist() == weight
    assert alias["weight"].tolist() == model.weight.tolist() != weight


def test_a_result_nobody_looks_at_costs_nothing_but_its_writes_count(torch: Any) -> None:
    """Dropping a result drops its work, not the in-place writes recorded beside it."""
    log = torch.zeros(1)

    def noisy(x: Any) -> Any:
        log.add_(1)
        return x * 2

    noisy(torch.ones(2))
    noisy(torch.ones(2))
    gc.collect()
    assert log.item() == 2


@pytest.mark.parametrize("call", ["torch.diag(x, torch.tensor(1.5))",
                                  "torch.diag_embed(x, torch.tensor(0.5))",
                                  "torch.triu(x.expand(2, 2), torch.tensor(0.5))"])
def test_a_call_with_a_tensor_for_an_option_spoils_no_later_one(torch: Any, call: str) -> None:
    """An option is part of what a recorded operation is known by, and compared with others' options."""
    x = torch.ones(2)
    for _ in range(3):
        with pytest.raises(TypeError, match="must be int, not Tensor"):
            eval(call, {"torch": torch, "x": x})
        assert torch.diag(x, torch.tensor(1)).sum().item() == 2
