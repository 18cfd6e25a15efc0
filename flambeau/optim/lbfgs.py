"""L-BFGS."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import operators as ops
from ..autograd import enable_grad, no_grad
from ..operators.pointwise.complex_numbers import as_reals
from ..tensor import Tensor
from ._arguments import check_lr
from ._counters import number
from ._line_search import strong_wolfe
from ._two_loop import two_loops
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]


_SAVED = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    r"""L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5), modelled on Schmidt's minFunc.

    A step needs a closure that clears the gradients, computes the loss, calls ``backward`` and returns the
    loss; it is called up to `max_eval` times. The direction comes from the last `history_size` pairs of
    changes of parameters and gradients; `line_search_fn` is ``None`` (steps of length `lr`) or
    ``"strong_wolfe"``.

    >>> import flambeau as torch
    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool(torch.allclose(w, torch.ones(2)))
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # -- the parameters as one vector
    # ----------------------------------------------------------------------------

    def _flat_grad(self) -> Tensor:
        parts = []
        for p in self._params:
            grad = ops.zeros_like(p) if p.grad is None else p.grad
            grad = grad.to_dense() if grad._sparse else grad
            parts.append((as_reals(grad) if grad.is_complex() else grad).reshape(-1))
        return ops.cat(parts, 0)

    def _move(self, length: float, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            flat = as_reals(p) if p.is_complex() else p
            part = direction[start : start + flat.numel()]
            flat.add_(part.view_as(flat), alpha=length)
            start += flat.numel()

    def _evaluate(
        self, closure: Callable[[], Any], start: list[Tensor], direction: Tensor, length: float
    ) -> tuple[float, Tensor]:
        """Loss and gradient at ``start + length * direction``; the parameters return to `start`."""
        self._move(length, direction)
        loss = _number(closure())
        grad = self._flat_grad()
        self._restore(start)
        return loss, grad

    def _restore(self, values: list[Tensor]) -> None:
        for p, value in zip(self._params, values, strict=True):
            p.copy_(value)

    # -- the step
    # ------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to `max_iter` iterations; return the loss before the first.

        >>> import flambeau as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (x * x).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure), x.detach().abs() < 1e-4
        (tensor(9., grad_fn=<SumBackward0>), tensor([True]))
        """

        def with_grad() -> Any:
            with enable_grad():
                return closure()

        with no_grad():
            state = self.state[self._params[0]]
            known = set(state)
            loss = self._minimize(with_grad)
            for name in _SAVED:  # what this step made, in PyTorch's order
                if name in state and name not in known:
                    state[name] = state.pop(name)
            return loss

    def _minimize(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        # One state for all parameters, kept under the first.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = _number(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            direction, scale = self._direction(state, grad, group["history_size"])
            previous_grad = grad.clone()
            previous_loss = loss
            length = self._first_length(state, grad, number(group["lr"]))
            slope = grad.dot(direction)
            state.update(
                d=direction, H_diag=scale, prev_flat_grad=previous_grad, prev_loss=previous_loss, t=length
            )
            if slope > -group["tolerance_change"]:
                break
            loss, grad, length, spent = self._advance(
                closure, direction, length, loss, grad, slope, iterations == group["max_iter"])
            evaluations += spent
            state["func_evals"] += spent
            state["t"] = length
            if self._finished(group, iterations, evaluations, grad, direction, length, loss, previous_loss):
                break
        return first_loss

    def _advance(
        self, closure: Callable[[], Any], direction: Tensor, length: Any, loss: float, grad: Tensor,
        slope: Tensor, last: bool
    ) -> tuple[float, Tensor, Any, int]:
        """Move; loss and gradient there, how far that was, and how often the closure was called for it."""
        search = self.param_groups[0]["line_search_fn"]
        if search is None:
            self._move(length, direction)
            return (loss, grad, length, 0) if last else (_number(closure()), self._flat_grad(), length, 1)
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]
        evaluate = functools.partial(self._evaluate, closure, start, direction)
        loss, grad, length, spent = strong_wolfe(evaluate, length, direction, loss, grad, slope)
        self._move(length, direction)
        return loss, grad, length, spent

    @staticmethod
    def _first_length(state: dict[str, Any], grad: Tensor, lr: float) -> Any:
        # The first direction is the raw gradient, whose length says nothing about the distance to go.
        if state["n_iter"] == 1:
            return min(1.0, 1.0 / grad.abs().sum()) * lr
        return lr

    @staticmethod
    def _finished(
        group: dict[str, Any],
        iterations: int,
        evaluations: int,
        grad: Tensor,
        direction: Tensor,
        length: Any,
        loss: float,
        previous_loss: float,
    ) -> bool:
        return bool(
            iterations == group["max_iter"]
            or evaluations >= group["max_eval"]
            or grad.abs().max() <= group["tolerance_grad"]
            or (direction * length).abs().max() <= group["tolerance_change"]
            or abs(loss - previous_loss) < group["tolerance_change"]
        )

    def _direction(self, state: dict[str, Any], grad: Tensor, history_size: int) -> tuple[Tensor, Any]:
        """The quasi-Newton direction by the two-loop recursion, and the initial inverse Hessian's scale."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[])
            return grad.neg(), 1
        grad_changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        scale = state["H_diag"]
        change = grad.sub(state["prev_flat_grad"])
        taken = state["d"].mul(state["t"])
        curvature = change.dot(taken)
        if curvature > 1e-10:
            if len(grad_changes) == history_size:
                for history in (grad_changes, steps, inverses):
                    history.pop(0)
            grad_changes.append(change)
            steps.append(taken)
            inverses.append(1.0 / curvature)
            scale = curvature / change.dot(change)
        weights = state.setdefault("al", [None] * history_size)
        direction, found = two_loops(grad, scale, grad_changes, steps, inverses)
        weights[:len(steps)] = found.unbind()
        return direction, scale


def _number(loss: Any) -> float:
    """The value of what a closure returned; that it may want a gradient is no mistake here."""
    return float(loss.detach() if isinstance(loss, Tensor) else loss)
