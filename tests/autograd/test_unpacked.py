"""What hooks make of saved tensors is differentiated again as what was saved would be."""

from __future__ import annotations

from typing import Any

import pytest

HOOKS: dict[str, Any] = {
    "themselves": lambda torch: (lambda x: x, lambda x: x),
    "copies": lambda torch: (lambda x: x.clone(), lambda x: x),
    "arrays": lambda torch: (lambda x: x.detach().numpy().copy(), torch.from_numpy),
}
EXPRESSIONS = ["a.exp()", "a * a * a", "a.sigmoid() * a.tanh()", "(a @ a).relu() * a", "a.softmax(1)",
               "square(a)"]


def second_gradient(torch: Any, expression: str, through: Any, leaf: bool) -> list[float]:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return 2 * x * grad + 0 * y

    w = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
    names = {"square": Square.apply}
    loss = through(lambda a: eval(expression, {"a": a, **names}).pow(2).sum(), w if leaf else w.sin())
    grad, = torch.autograd.grad(loss, w, create_graph=True)
    grad.pow(2).sum().backward()
    found: list[float] = w.grad.flatten().tolist()
    return found


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("kind", [*HOOKS, "on_cpu", "checkpoint"])
def test_second_gradients_do_not_depend_on_hooks(torch: Any, kind: str, expression: str, leaf: bool) -> None:
    def through(function: Any, x: Any) -> Any:
        if kind == "checkpoint":
            return torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        hooks = torch.autograd.graph.save_on_cpu() if kind == "on_cpu" \
            else torch.autograd.graph.saved_tensors_hooks(*HOOKS[kind](torch))
        with hooks:
            return function(x)

    expected = second_gradient(torch, expression, lambda function, x: function(x), leaf)
    assert second_gradient(torch, expression, through, leaf) == pytest.approx(expected, rel=1e-12)
