"""States of optimizers and schedules: order of entries, 16-bit values; options that exclude each other."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from .cases import assert_same_state, outcome, plain

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"])
def test_averages_of_16_bits_are_rounded_once(
    torch: ModuleType, oracle: ModuleType, name: str, dtype: str
) -> None:
    def run(framework: ModuleType) -> Any:
        p = framework.nn.Parameter(framework.ones(4, 3, dtype=getattr(framework, dtype)))
        optimizer = getattr(framework.optim, name)([p], lr=0.1)
        for gradient in (0.5, 0.5, 0.25):
            p.grad = framework.full_like(p, gradient)
            optimizer.step()
        return plain(optimizer.state_dict()["state"][0]["exp_avg"])

    assert_same_state(run(torch), run(oracle), 0)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad"])
def test_steps_are_counted_in_the_dtype_that_the_count_has(
    torch: ModuleType, oracle: ModuleType, name: str, fused: bool
) -> None:
    """A new count has the default dtype, that of fused steps float32; one that was loaded keeps its own."""
    def run(framework: ModuleType) -> list[str]:
        framework.set_default_dtype(framework.float64)
        try:
            p = framework.nn.Parameter(framework.ones(3))
            p.grad = framework.ones(3)
            optimizer = getattr(framework.optim, name)([p], fused=fused)
            optimizer.step()
            found = [optimizer.state[p]["step"].dtype]
            for step in (*(framework.tensor(3, dtype=getattr(framework, dtype))
                           for dtype in ("float64", "float32", "int64")), 3):
                saved = optimizer.state_dict()
                saved["state"] = {0: {**saved["state"][0], "step": step}}
                loaded = getattr(framework.optim, name)([p], fused=fused)
                loaded.load_state_dict(saved)
                found.append(loaded.state[p]["step"].dtype)
                loaded.step()
                found.append(loaded.state[p]["step"].dtype)
            framework.set_default_dtype(framework.float32)
            optimizer.step()
            found.append(optimizer.state[p]["step"].dtype)
            return [str(dtype).removeprefix("torch.") for dtype in found]
        finally:
            framework.set_default_dtype(framework.float32)

    assert run(torch) == run(oracle)


def test_lbfgs_state_is_in_the_order_of_pytorch(torch: ModuleType, oracle: ModuleType) -> None:
    def run(framework: ModuleType) -> Any:
        p = framework.nn.Parameter(framework.tensor([1.0, 2.0], dtype=framework.float64))
        optimizer = framework.optim.LBFGS([p], max_iter=3)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (p**4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return list(optimizer.state_dict()["state"][0])

    assert run(torch) == run(oracle)


@pytest.mark.parametrize("name", ["LambdaLR", "MultiplicativeLR"])
def test_schedule_state_is_in_the_order_of_pytorch(
    torch: ModuleType, oracle: ModuleType, name: str
) -> None:
    def run(framework: ModuleType) -> Any:
        optimizer = framework.optim.SGD([framework.nn.Parameter(framework.ones(1))], lr=1.0)
        return list(getattr(framework.optim.lr_scheduler, name)(optimizer, lambda epoch: 0.5).state_dict())

    assert run(torch) == run(oracle)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Adam", {"differentiable": True, "foreach": True}),
        ("Rprop", {"differentiable": True, "foreach": True}),
        ("Adam", {"betas": "mixed"}),
        ("NAdam", {"capturable": True}),
        ("ASGD", {"capturable": True, "foreach": True}),
        ("Adam", {"lr": "x"}),
    ],
    ids=str,
)
def test_options_that_do_not_go_together(
    torch: ModuleType, oracle: ModuleType, name: str, options: dict[str, Any]
) -> None:
    def run(framework: ModuleType) -> Any:
        given = {"betas": (framework.tensor(0.9), 0.99)} if "betas" in options else options
        p = framework.nn.Parameter(framework.ones(2))
        p.grad = framework.ones(2)
        return outcome(lambda: getattr(framework.optim, name)([p], **given).step())[0]

    assert run(torch) == run(oracle)


_HELD = {
    "counter": lambda optimizer, p: optimizer.state[p]["step"],
    "state": lambda optimizer, p: optimizer.state[p],
    "states": lambda optimizer, p: optimizer.state,
    "average": lambda optimizer, p: optimizer.state[p]["exp_avg"],
}


@pytest.mark.parametrize("between", ["nothing", "loaded", "frozen", "written"])
@pytest.mark.parametrize("what", _HELD)
@pytest.mark.parametrize("name", ["Adam", "NAdam"])
def test_what_is_held_of_a_state_follows_the_steps(
    torch: ModuleType, oracle: ModuleType, name: str, what: str, between: str
) -> None:
    def run(framework: ModuleType) -> Any:
        ps = [framework.nn.Parameter(framework.full((2, k), float(k))) for k in (1, 2, 3)]
        optimizer = getattr(framework.optim, name)(ps, lr=0.1)
        found = []
        held: Any = None
        for step in range(5):
            optimizer.zero_grad()
            sum((p**3).sum() for p in ps if p.requires_grad).backward()
            optimizer.step()
            if step == 1:
                if between == "loaded":
                    optimizer.load_state_dict(optimizer.state_dict())
                held = _HELD[what](optimizer, ps[0])
                if between == "frozen":
                    ps[1].requires_grad_(False)
            elif step == 2 and between == "written" and what == "counter":
                held.fill_(7)
            if held is not None:
                found.append(plain(held[ps[0]] if what == "states" else held))
        return found, plain(optimizer.state_dict()["state"])

    assert_same_state(run(torch), run(oracle))
