"""``ctx``: what the methods of a user's ``Function`` are given."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .engine import FREED, unpack


class Context:
    """What ``ctx`` offers in forward, setup_context and backward."""

    def _reset(self) -> None:
        self._to_save: tuple[Any, ...] = ()
        self._for_forward: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._freed = False
        self._saved_entries: list[Any] | None = None
        self._is_output: dict[int, int] = {}

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs for backward, where ``ctx.saved_tensors`` has them.

        >>> import flambeau as torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         x, = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
        """
        for i, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                                f"{type(x).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that forward modified in place.

        >>> import flambeau as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.ones(2, requires_grad=True)
        >>> y = x.clone()
        >>> Double.apply(y).sum().backward()
        >>> y.detach(), x.grad
        (tensor([2., 2.]), tensor([2., 2.]))
        """
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs through which no gradient flows.

        >>> import flambeau as torch
        >>> class Sorted(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         return values, places
        >>> values, places = Sorted.apply(torch.tensor([2.0, 1.0], requires_grad=True))
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (default) or None for outputs that no gradient reached.

        >>> import flambeau as torch
        >>> class Both(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x * 2, x * 3
        ...     @staticmethod
        ...     def backward(ctx, first, second):
        ...         print(first, second)
        ...         return 2 * first
        >>> x = torch.tensor(1.0, requires_grad=True)
        >>> Both.apply(x)[0].backward()
        tensor(1.) None
        """
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept, checked for in-place writes since.

        >>> import flambeau as torch
        >>> class Exp(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.saved_tensors[0]
        >>> x = torch.zeros(2, requires_grad=True)
        >>> Exp.apply(x).sum().backward()
        >>> x.grad
        tensor([1., 1.])
        """
        if self._freed:
            raise RuntimeError(FREED)
        if self._saved_entries is None:
            return self._for_forward or self._to_save
        fn: Any = self
        return tuple([None if entry is None else unpack(fn, entry, ~self._is_output.get(i, 0), seen=True)
                      for i, entry in enumerate(self._saved_entries)])

    saved_variables = saved_tensors


class FunctionCtx(Context):
    """Kept for ``isinstance`` checks and annotations."""
