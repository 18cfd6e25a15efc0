"""``out=`` that overlaps what is read, and tensors that are set to other memory, as in PyTorch."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

# (what is made of x = [5, 4, 3, 2, 1, 0] and long zeros i, what is shown)
OVERLAPS = (
    ("torch.sort(x, out=(x, i))", "x, i"),
    ("torch.sort(x[:5], out=(x[1:], i[:5]))", "x"),
    ("torch.topk(x, 3, out=(x[:3], i[:3]))", "x"),
    ("torch.topk(x[:3], 3, out=(x[3:], i[:3]))", "x"),
    ("torch.renorm(x.view(2, 3), 2, 0, 1., out=x.view(2, 3))", "x.round(decimals=4)"),
    ("torch.renorm(x[:4].view(2, 2), 2, 0, 1., out=x[1:5].view(2, 2))", "x"),
    ("torch.diff(x, out=x[1:])", "x"),
    ("torch.diff(x, out=x[:5])", "x"),
    ("torch.diff(x[:3], out=x[4:])", "x"),
    ("torch.outer(x[:2], x[:3], out=x.view(2, 3))", "x"),
    ("torch.outer(x[:1], x[1:3], out=x[3:5].view(1, 2))", "x"),
    ("torch.kron(x[:2], x[:2], out=x[:4])", "x"),
    ("torch.kron(x[:1], x[1:3], out=x[3:5])", "x"),
    ("torch.nonzero(i, out=i)", "i"),
    ("torch.nonzero(x, out=i)", "i"),
)


def _outcome(torch: ModuleType, call: str, shown: str) -> str:
    names = {"torch": torch, "x": torch.arange(6.).flip(0).contiguous(),
             "i": torch.zeros(6, dtype=torch.int64)}
    try:
        if "nonzero(x" in call:
            names["i"] = names["i"][:0]
        exec(call, names)
        return str(eval(shown, names))
    except RuntimeError as error:
        return str(error)


@pytest.mark.oracle
@pytest.mark.parametrize(("call", "shown"), OVERLAPS)
def test_results_that_overlap_operands(torch: ModuleType, oracle: ModuleType, call: str, shown: str) -> None:
    assert _outcome(torch, call, shown) == _outcome(oracle, call, shown)


SET = {
    "of a result": "y.set_(z)",
    "to a result": "z.set_(y); y = z",
    "to a leaf": "z.set_(x); y = z",
    "to a result, unrecorded": "with torch.no_grad(): z.set_(y)\ny = z",
    "where it was saved": "w = y * y; y.set_(z); y = w",
    "where a constant was saved": "w = y * z; z.set_(torch.ones(3)); y = w",
    "where it was saved in a leaf": "x.set_(z)",
    "where nothing was saved": "w = y + z; z.set_(torch.ones(3)); y = w",
    "saved after it was set": "z.set_(torch.ones(3)); y = y * z",
    "written after it was set": "z.set_(torch.ones(3)); z += 1; y = y * z",
    "written after it was saved": "z.set_(torch.ones(3)); y = y * z; z += 1",
}


def _set(torch: ModuleType, statements: str) -> list[str]:
    names = {"torch": torch, "x": torch.zeros(3, requires_grad=True), "z": torch.zeros(3)}
    shown = []
    try:
        exec("y = x.exp()\n" + statements, names)
        y = names["y"]
        shown += [str(y.tolist()), str(y.requires_grad), type(y.grad_fn).__name__]
        y.sum().backward()
        shown.append(str(names["x"].grad.tolist()))
    except RuntimeError as error:
        shown.append(str(error).replace("torch::autograd::", ""))
    return shown


@pytest.mark.oracle
@pytest.mark.parametrize("case", SET)
def test_tensors_that_are_set_to_other_memory(torch: ModuleType, oracle: ModuleType, case: str) -> None:
    assert _set(torch, SET[case]) == _set(oracle, SET[case])


WARNED = """
import warnings
warnings.simplefilter("always")
x, i, s = torch.ones(3), torch.tensor([0]), torch.tensor([2.])
with warnings.catch_warnings(record=True) as caught:
    torch.segment_reduce(x, "max", lengths=torch.tensor([3]))
    x.scatter_(0, i, 2., reduce="add")
    x.scatter_reduce_(0, i, s, "prod")
    print(len(caught))
    for _ in range(2):
        x.scatter(0, i, s, reduce="multiply"); x.scatter_(0, i, s, reduce="add")
        x.index_reduce(0, i, s, "prod"); x.index_reduce_(0, i, s, "amax")
for one in caught:
    print(one.category.__name__, str(one.message).split(" (Triggered")[0])
"""


@pytest.mark.oracle
def test_warnings_that_come_once(oracle: ModuleType) -> None:
    shown = [subprocess.run([sys.executable, "-c", f"import {name} as torch\n{WARNED}"], capture_output=True,
                            text=True, check=True).stdout for name in ("flambeau", "torch")]
    assert shown[0] == shown[1] and shown[0].startswith("0\n") and shown[0].count("\n") == 3


@pytest.mark.oracle
def test_bags_whose_end_is_missing(torch: ModuleType, oracle: ModuleType) -> None:
    messages = []
    for library in (torch, oracle):
        none = library.tensor([], dtype=library.int64)
        with pytest.raises(RuntimeError) as failure:
            library.nn.functional.embedding_bag(library.tensor([0, 1]), library.ones(2, 2), none,
                                                include_last_offset=True)
        messages.append(str(failure.value))
    assert messages[0] == messages[1]
