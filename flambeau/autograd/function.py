"""``Function``: operators of the user's own, with a backward of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..graph.geometry import Geometry, contiguous
from ..operators.creation.creation import filled
from ..tensor import Tensor, state
from ..tensor.batching import any_batched, levels
from ..tensor.tape import GradFn
from . import forward_ad
from .batched_function import apply_batched
from .engine import fit
from .function_context import Context
from .function_context import FunctionCtx as FunctionCtx
from .function_outputs import with_history
from .grad_mode import no_grad

_new = object.__new__


class BackwardCFunction(GradFn, Context):
    """The GradFn of a user's Function, and the ``ctx`` that its methods get."""

    __slots__ = ("__dict__",)

    _function: type[Function]
    _needs_input_grad: tuple[bool, ...]
    _argument_geometries: list[Geometry | None]
    _output_geometries: list[Geometry | None]

    @property
    def output_count(self) -> int:  # type: ignore[override]
        """How many gradients backward gets."""
        return len(self._output_geometries)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward whether its gradient is wanted."""
        return self._needs_input_grad

    def run(self, grads: tuple[Any, ...]) -> list[Any]:
        """Call the user's backward; return gradients for the tensor arguments."""
        received = []
        for grad, geometry in zip(grads, self._output_geometries):
            if grad is None and self._materialize and geometry is not None:
                grad = filled(contiguous(geometry.shape, geometry.dtype, geometry.device), 0)
            received.append(grad)
        function = self._function
        if function.vjp is not Function.vjp:
            if function.backward is not Function.backward:
                raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not "
                                   "allowed. You should only implement one of them.")
            returned = function.vjp(self, *received)
        elif state.pushing and function.backward is Function.backward and function.jvp is not Function.jvp:
            returned = forward_ad.transposed(function, self, received, self._argument_geometries)
        else:
            returned = function.backward(self, *received)
        if not isinstance(returned, tuple):
            returned = (returned,)
        return self._sort_out(returned)

    def _sort_out(self, returned: tuple[Any, ...]) -> list[Any]:
        count = len(self._argument_geometries)
        if len(returned) > count and all(r is None for r in returned[count:]):
            returned = returned[:count]
        if len(returned) != count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                               f"{count}, got {len(returned)})")
        results: list[Any] = []
        for i, (grad, geometry) in enumerate(zip(returned, self._argument_geometries)):
            if geometry is None:
                if grad is not None:
                    raise RuntimeError(f"function {self.name()} returned a gradient different than None "
                                       f"at position {i + 1}, but the corresponding forward input was not a "
                                       "Variable")
                results.append(None)
                continue
            checked = self._needs_input_grad[i] or not isinstance(grad, Tensor)    # others are thrown away
            results.append(self._checked(grad, geometry, i) if checked else None)
        return results

    def _checked(self, grad: Any, geometry: Geometry, i: int) -> Any:
        if grad is None:
            return None
        if not isinstance(grad, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        if grad.shape != geometry.shape:
            try:
                return fit(grad, geometry)
            except RuntimeError:
                raise RuntimeError(f"Function {self.name()} returned an invalid gradient at index {i} - got "
                                   f"{list(grad.shape)} but expected shape compatible with "
                                   f"{list(geometry.shape)}"
                                   ) from None
        return fit(grad, geometry)

    @property
    def shown(self) -> tuple[int, ...]:
        """The tensors among the arguments."""
        return tuple([i for i, geometry in enumerate(self._argument_geometries) if geometry is not None])

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {id(self):#x}>"

    def release(self) -> None:
        """Forget what was saved: the graph is used up."""
        if self._saved_entries:
            self._saved_entries = None
            self._freed = True


class Function:
    """Base class of operators with a derivative of their own; call them with ``apply``.

    >>> import flambeau as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * grad_output
    >>> x = torch.tensor(3., requires_grad=True)
    >>> Square.apply(x).backward(); x.grad
    tensor(6.)
    """

    generate_vmap_rule = False
    _context_class: Any = None
    _suits_transforms = False   # without setup_context; ours that do

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all "
                      "static, so you should invoke them on the class itself. Instantiating an autograd "
                      "function will raise an error in a future version of "
                      "PyTorch.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
            "autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operator: ``forward(ctx, *args)``, or ``forward(*args)`` beside ``setup_context``.

        >>> import flambeau as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, where forward gets no ctx.

        >>> import flambeau as torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         x, = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward(); x.grad
        tensor(6.)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of forward's arguments.

        As many gradients come as forward had results; as many are returned as it had arguments, None for
        those that have none.

        >>> import flambeau as torch
        >>> class Scale(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, factor):
        ...         ctx.factor = factor
        ...         return x * factor
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.factor, None
        >>> x = torch.ones(2, requires_grad=True)
        >>> Scale.apply(x, 3).sum().backward(); x.grad
        tensor([3., 3.])
        """
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name of backward."""
        return Function.backward(ctx, *grad_outputs)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The forward-mode derivative.

        >>> import flambeau as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         return 2 * tangent
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     fwAD.unpack_dual(Double.apply(fwAD.make_dual(torch.ones(1), torch.ones(1)))).tangent
        tensor([2.])
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use "
                                  "it with forward mode AD.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record its derivative.

        >>> import flambeau as torch
        >>> class Clipped(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x.clone()
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad.clamp(-1, 1)
        >>> x = torch.ones(2, requires_grad=True)
        >>> (Clipped.apply(x) * torch.tensor([0.5, 5.0])).sum().backward(); x.grad
        tensor([0.5000, 1.0000])
        """
        if levels or state.transforms:
            if cls.setup_context is Function.setup_context and not cls._suits_transforms:
                raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, "
                                   "grad, jvp, jacrev, ...), it must override the setup_context "
                                   "staticmethod. For more details, please see "
                                   "https://pytorch.org/docs/main/notes/extending.func.html")
            if levels and any_batched(args):
                return apply_batched(cls, args)
        if cls._context_class is None or cls._context_class.__name__ != cls.__name__ + "Backward":
            cls._context_class = type(cls.__name__ + "Backward", (BackwardCFunction,),
                                      {"__slots__": (), "__module__": "torch.autograd.function"})
        ctx = _new(cls._context_class)
        GradFn.__init__(ctx)
        ctx._reset()
        ctx._function = cls
        ctx.signature, ctx.plan, ctx.numbers, ctx.saved = None, None, None, None
        needs = tuple([isinstance(x, Tensor) and x.requires_grad for x in args])
        ctx._needs_input_grad = needs
        wants_grad = state.enabled and any(needs)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        if forward_ad.levels and cls.jvp is not Function.jvp:
            several = isinstance(output, tuple)
            outputs = list(output) if several else [output]
            duals = forward_ad.custom_tangents(cls, ctx, args, outputs)
            if duals is not outputs:
                return tuple(duals) if several else duals[0]
        return with_history(ctx, args, output, wants_grad)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward as not differentiable itself: differentiating it again is an error.

    >>> import flambeau as torch
    >>> from flambeau.autograd.function import once_differentiable
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return 3 * ctx.saved_tensors[0] ** 2 * grad
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """
    @wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not state.enabled or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        marked = tuple(_refusing(x) if isinstance(x, Tensor) else x for x in several)
        return marked if isinstance(outputs, tuple) else marked[0]
    return wrapper


class _Refuse(Function):
    _suits_transforms = True

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with "
                           "@once_differentiable")


def _refusing(x: Tensor) -> Any:
    return _Refuse.apply(x.detach().requires_grad_())


class InplaceFunction(Function):
    """A Function that may work in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
