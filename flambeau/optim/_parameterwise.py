"""ParameterwiseOptimizer: an optimizer whose step treats one parameter after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import enable_grad, no_grad
from ..tensor import Tensor
from .optimizer import Optimizer


class ParameterwiseOptimizer(Optimizer):
    """Subclasses say in :meth:`_step_one` how a parameter follows its gradient."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss, and its value is returned."""
        with no_grad():
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_one(p, p.grad, group)
            return loss

    def _step_one(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        raise RuntimeError(f"{type(self).__name__} does not say how to update a parameter")
