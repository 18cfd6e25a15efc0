"""SparseAdam: Adam for sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import operators as ops
from ..sparse.tensor import expect_sparse_tensors
from ..tensor import Tensor
from ._arguments import check_betas
from ._counters import number
from ._parameterwise import ParameterwiseOptimizer
from .optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(ParameterwiseOptimizer):
    """Adam that updates only the elements for which a sparse gradient has values, moments included.

    >>> import flambeau as torch
    >>> torch.optim.SparseAdam([torch.ones(2, requires_grad=True)]).defaults["lr"]
    0.001
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        expect_sparse_tensors()     # takes milliseconds, which the first step would
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._check_all("Sparse params", "requires dense parameter tensors", lambda p: p.is_sparse)
        self._check_all("Complex params", "does not support complex parameters", lambda p: p.is_complex())

    def _check_all(self, what: str, problem: str, has_problem: Callable[[Tensor], bool]) -> None:
        found = [
            [g, i]
            for g, group in enumerate(self.param_groups)
            for i, p in enumerate(group["params"])
            if has_problem(p)
        ]
        if found:
            raise ValueError(f"{what} at indices {found}: SparseAdam {problem}")

    def _step_one(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=ops.zeros_like(p), exp_avg_sq=ops.zeros_like(p))
        state["step"] += 1
        grad = grad.coalesce()
        places = grad.indices()
        values = -grad.values() if group["maximize"] else grad.values()
        if not values.numel():
            return
        if not p.ndim:
            values = values.reshape(())
        beta1, beta2 = map(number, group["betas"])
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        first = _elements(exp_avg, places).lerp(values, 1 - beta1)
        second = _elements(exp_avg_sq, places).lerp(values * values, 1 - beta2)
        _set_elements(exp_avg, places, first)
        _set_elements(exp_avg_sq, places, second)
        step = state["step"]
        size = number(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        _set_elements(p, places, _elements(p, places) - size * first / (second.sqrt() + group["eps"]))


def _elements(x: Tensor, places: Tensor) -> Tensor:
    """The elements of x, or rows, at coordinates (D, N)."""
    return x.index_select(0, places[0]) if len(places) == 1 else x[tuple(places)]


def _set_elements(x: Tensor, places: Tensor, values: Tensor) -> None:
    if len(places) == 1:
        x.index_copy_(0, places[0], values)
    else:
        x[tuple(places)] = values
