"""Scales given by position, as programs of some years ago do; PyTorch takes them still."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau.operators.calls import older_signatures

X = torch.arange(4.0).reshape(2, 2) + 1
V = torch.tensor([1.0, 2.0])
B = X.repeat(2, 1, 1)

# The older call, and what it says in today's words.
PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "add": (lambda: torch.add(X, 0.5, X), lambda: torch.add(X, X, alpha=0.5)),
    "sub": (lambda: X.sub(0.5, X), lambda: X.sub(X, alpha=0.5)),
    "add_": (lambda: X.clone().add_(0.5, X), lambda: X * 1.5),
    "add of a tensor's scale": (lambda: X.add(torch.tensor(0.5), X), lambda: X * 1.5),
    "addcmul": (lambda: X.addcmul(0.5, X, X), lambda: X.addcmul(X, X, value=0.5)),
    "addcmul_": (lambda: X.clone().addcmul_(0.5, X, X), lambda: X.addcmul(X, X, value=0.5)),
    "addcdiv": (lambda: torch.addcdiv(X, 0.5, X, X), lambda: X.addcdiv(X, X, value=0.5)),
    "addmm": (lambda: X.addmm(0.5, 2, X, X), lambda: X.addmm(X, X, beta=0.5, alpha=2)),
    "addmm of a beta": (lambda: X.addmm(0.5, X, X), lambda: X.addmm(X, X, beta=0.5)),
    "torch.addmm": (lambda: torch.addmm(0.5, X, 2, X, X), lambda: X.addmm(X, X, beta=0.5, alpha=2)),
    "torch.addmm of a beta": (lambda: torch.addmm(0.5, X, X, X), lambda: X.addmm(X, X, beta=0.5)),
    "addmv": (lambda: torch.addmv(0.5, V, 2, X, V), lambda: V.addmv(X, V, beta=0.5, alpha=2)),
    "addr_": (lambda: X.clone().addr_(0.5, 2, V, V), lambda: X.addr(V, V, beta=0.5, alpha=2)),
    "baddbmm": (lambda: B.baddbmm(0.5, 2, B, B), lambda: B.baddbmm(B, B, beta=0.5, alpha=2)),
    "addbmm": (lambda: torch.addbmm(0.5, X, B, B), lambda: X.addbmm(B, B, beta=0.5)),
    "addbmm_": (lambda: X.clone().addbmm_(0.5, B, B), lambda: X.addbmm(B, B, beta=0.5)),
    "out=": (lambda: torch.addcmul(X, 0.5, X, X, out=torch.empty(2, 2)), lambda: X + 0.5 * X * X),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore:This overload")
def test_scales_by_position(name: str) -> None:
    older, today = PAIRS[name]
    assert older().tolist() == today().tolist()


@pytest.mark.parametrize("call", [
    lambda: X.add(X, X), lambda: X.add("a", X), lambda: torch.add(0.5, X, X), lambda: X.add(V[:1], X),
    lambda: torch.add(X, X, 2), lambda: X.add_(1, 2, X)])
def test_what_is_no_scale_is_one_argument_too_many(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"takes (1 positional argument|2 positional arguments) but"):
        call()


def test_the_first_such_call_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(older_signatures, "_told", False)
    with pytest.warns(UserWarning, match="This overload of add is deprecated"):
        X.add(0.5, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X.addcmul(0.5, X, X)
