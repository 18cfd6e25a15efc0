"""Classes that are no tensors and override: each test in a process where none was met before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SETUP = """
import flambeau as torch
from flambeau import relu
from flambeau.nn import functional as F
from flambeau.nn.functional import dropout as kept_dropout, linear as kept_linear
TABLE = {torch.clone: "clone", torch.exp: "exp", torch.mean: "mean", torch.linalg.norm: "norm"}
class Like:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in TABLE:
            return TABLE[function]
        known = function.__name__.removeprefix("linalg_") in (*TABLE.values(), "mul")
        return NotImplemented if known else "another"
like, x = Like(), torch.ones(2)
"""
CALLS = {
    "torch.clone(like)": "clone", "torch.exp(like)": "exp", "torch.mean(like, dim=0)": "mean",
    "torch.linalg.norm(like)": "norm", "torch.cat([x, like])": "another", "torch.add(x, like)": "another",
    "torch.split(like, 2)": "another", "torch.zeros_like(like)": "another", "x + like": "another",
    "like - x": "another", "x @ like": "another", "x ** like": "another", "x == like": "another",
    # functions that something is in front of
    "torch.mean(like)": "mean", "torch.sum(like, 0)": "another", "torch.sum(like, dim=0)": "another",
    "torch.flip(like, (0,))": "another", "torch.randn_like(like)": "another", "torch.rand(like)": "another",
    # functions that nothing is wrapped around
    "torch.relu(like)": "another", "F.relu(like, inplace=True)": "another", "F.linear(like, x)": "another",
    "F.linear(x, like)": "another", "F.linear(x, x, like)": "another", "F.silu(like)": "another",
    "F.layer_norm(like, (2,))": "another", "F.layer_norm(x, (2,), like)": "another",
    "F.rms_norm(x, (2,), like)": "another", "F.dropout(like)": "another",
    "F.dropout(like, 0.5, False)": "another", "torch.dropout(like, 0.5, True)": "another",
    "torch.nn.Linear(2, 2)(like)": "another", "torch.nn.Dropout()(like)": "another",
    "x.add(like)": "another", "x.sub(like)": "another", "x.div(like)": "another", "x.add_(like)": "another",
    "x.copysign_(like)": "another", "torch.relu_(like)": "another", "torch.numel(like)": "another",
    # functions that were taken before one was met
    "relu(like)": "another", "kept_linear(like, x)": "another", "kept_dropout(like)": "another",
    "torch.autograd.grad(like, x)": "another", "torch.autograd.backward(like)": "another",
}


ALONE = """
import os
def alone(program):
    taken, given = os.pipe()
    process = os.fork()
    if not process:
        lines = []
        try:
            exec(program, globals() | {"print": lambda x: lines.append(str(x))})
        except Exception as error:
            lines.append(f"{type(error).__name__}: {error}")
        os.write(given, " ".join(lines).encode())
        os._exit(0)
    os.close(given)
    os.waitpid(process, 0)
    with open(taken) as file:
        return file.read()
import json, sys
print(json.dumps([alone(program) for program in json.loads(sys.argv[1])]))
"""


def _shown(*programs: str) -> list[str]:
    """What programs print, each in a process of its own, a child of one that imported the package."""
    out = subprocess.run([sys.executable, "-c", SETUP + ALONE, json.dumps(programs)], capture_output=True,
                         text=True, check=True).stdout
    found: list[str] = json.loads(out)
    return found


@pytest.fixture(scope="module")
def first_calls() -> dict[str, str]:
    return dict(zip(CALLS, _shown(*[f"print({call})\nprint({call})" for call in CALLS])))


@pytest.mark.parametrize("call", CALLS)
def test_first_call_is_seen(first_calls: dict[str, str], call: str) -> None:
    """And the next one, when all public functions ask."""
    assert first_calls[call].split() == [CALLS[call]] * 2


def test_refusing_is_an_error() -> None:
    shown, = _shown("torch.mul(x, like)")
    assert shown.startswith("TypeError: Multiple dispatch failed for 'torch.mul'")


SUBCLASS = """
seen = []
class Seen(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs)
x = torch.ones(2, 2).as_subclass(Seen)
seen.clear()
"""
# What an expression is, and by which name its function was asked.
SEEN = {
    "relu(x)": "Seen relu", "kept_linear(torch.ones(2, 2), x)": "Seen linear", "x.T": "Seen __get__",
    "x.data": "Seen __get__", "x.shape": "Size __get__", "x.grad": "NoneType __get__", "x + 1": "Seen add",
    "x.numel()": "int numel", "x.stride()": "tuple stride",
    "x.is_floating_point()": "bool is_floating_point",
    "torch.tensor(x)": "Tensor", "x.mT": "Seen __get__", "x.dtype": "dtype __get__",
}


def test_subclasses_are_asked_in_all_forms() -> None:
    programs = [f"{SUBCLASS}y = {each}\nprint(type(y).__name__)\nfor f in seen: print(f.__name__)"
                for each in SEEN]
    assert dict(zip(SEEN, _shown(*programs))) == SEEN


# Subclasses of Tensor, by where their __torch_function__ comes from, and what is made of them in an addition.
SWITCHED_OFF = """
class Off(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
class BelowOff(Off):
    pass
class Own(torch.nn.Parameter):
    pass
class Manifold(BelowOff, torch.nn.Parameter):
    pass
class On(torch.Tensor):
    pass
class OnFirst(On, BelowOff):
    pass
"""
OF_A_SUM = {"Off": "Tensor", "BelowOff": "Tensor", "Own": "Tensor", "Manifold": "Tensor", "On": "On",
            "OnFirst": "Tensor"}


def test_subclasses_of_what_is_switched_off_are_not_asked() -> None:
    programs = [f"{SWITCHED_OFF}\nx = torch.ones(2).as_subclass({name})\nprint(type(x + 1).__name__)\n"
                "print(torch.overrides.has_torch_function((x,)))" for name in OF_A_SUM]
    wanted = [f"{result} {result != 'Tensor'}" for result in OF_A_SUM.values()]
    assert dict(zip(OF_A_SUM, _shown(*programs))) == dict(zip(OF_A_SUM, wanted))


def test_attributes_are_announced_as_those_of_tensors() -> None:
    shown, = _shown(SUBCLASS + "x.grad = torch.ones(2, 2)\ndel x.grad\nx.shape\n"
                    "print([f.__name__ for f in seen])\nprint(seen[-1] == torch.Tensor.shape.__get__)\n"
                    "print(torch.overrides.resolve_name(seen[-1]))\n"
                    "x.grad = g = torch.ones(2, 2)\nprint(x.grad is g)")
    assert shown == "['__set__', '__delete__', '__get__'] True torch.Tensor.shape.__get__ True"


def test_frames_of_functions_that_ask_can_be_looked_at() -> None:
    """As debuggers do: the code of these functions is exchanged."""
    shown, = _shown(SUBCLASS + """
frames = 0
for function in (torch.relu, torch.Tensor.add_, torch.mean, torch.zeros_like, F.linear, torch.linalg.inv):
    try:
        function("a", "b", nothing=1)
    except TypeError as error:
        at = error.__traceback__
        while at is not None:
            frames += at.tb_frame.f_locals is not None
            at = at.tb_next
print(frames > 12)
""")
    assert shown == "True"
