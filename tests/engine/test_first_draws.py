"""When what a program draws before its first step is computed."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import flambeau as torch
from flambeau.engine import looks
from flambeau.graph import pending

torch.manual_seed(0)
{body}
print([(look.cause, look.recorded) for look in looks], total)
"""


def _run(body: str) -> str:
    return subprocess.run([sys.executable, "-c", _SCRIPT.format(body=body)], check=True, capture_output=True,
                          text=True).stdout.strip()


@pytest.mark.parametrize("body, expected", [
    # A draw, its values and the new state are three nodes.
    ("x = torch.randn(1, 14)\ntotal = (x * 2).sum().item()", "[('draws', 3), ('item', 2)]"),
    ("x = torch.randn(300, 100)\nbefore = len(pending.nodes)\ntotal = before", "[('draws', 3)]"),
    ("x = torch.randn(1000, 1000)\ntotal = len(pending.nodes)", "[]"),
    ("y = torch.zeros(3) + 1\nx = torch.randn(300, 100)\ntotal = len(pending.nodes)", "[]"),
    ("total = torch.ones(1).item()\ntotal += torch.randn(300, 100).sum().item()",
     "[('item', 1), ('item', 4)]"),
], ids=["by themselves", "along the way", "large", "after others", "after a look"])
def test_looks(body: str, expected: str) -> None:
    assert _run(body).startswith(expected)


@pytest.mark.parametrize("body, expected", [
    ("m = torch.nn.Linear(3, 4)\nm.eval()\ntotal = len(pending.nodes)", "[('parameters', "),
    ("m = torch.nn.Linear(3, 4)\nones, more = torch.tensor([[1.] * 3] * 4), torch.tensor([1.] * 4)\n"
     "m.load_state_dict({'weight': ones, 'bias': more})\nm.eval()\ntotal = m.weight.sum().item()",
     "[('item', "),
    ("torch.ones(1).item()\nm = torch.nn.Linear(3, 4)\nm.eval()\ntotal = m.weight.sum().item()",
     "[('item', 1), ('item', "),
    ("m = torch.nn.Linear(3, 4)\nf = torch.no_grad()(m)\ntotal = len(pending.nodes)", "[('parameters', "),
    ("f = torch.no_grad()(len)\nm = torch.nn.Linear(3, 4)\ntotal = m.weight.sum().item()", "[('item', "),
], ids=["drawn", "loaded over", "after a look", "evaluated by a function", "declared before"])
def test_weights_are_drawn_when_they_are_to_be_evaluated(body: str, expected: str) -> None:
    assert _run(body).startswith(expected)


def test_many_small_draws_are_no_part_of_the_first_step() -> None:
    found = _run("memory = [torch.randn(1, 14) for _ in range(100)]\n"
                 "before = len(looks)\n"
                 "torch.cat(memory).sum().item()\n"
                 "total = before, looks[-1].recorded")
    assert found.endswith("(4, 1)") and found.count("draws") == 4


def test_numbers_are_the_same() -> None:
    body = "total = sum((torch.randn(5) + torch.rand(40, 20).sum()).sum().item() for _ in range(3))"
    early = _run(body)
    late = _run("torch.ones(1).item()\n" + body)
    assert early.count("draws") > late.count("draws") == 0
    assert early.split()[-1] == late.split()[-1]
