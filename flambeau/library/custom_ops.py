"""``custom_op``: a Python function as an operator, and what one can register for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..amp import autocast
from ..autograd import Function, no_grad
from ..autograd.grad_mode import is_grad_enabled
from ..autograd.graph import increment_version
from ..devices import device
from ..dtypes import dtype, float64
from ..tensor import Tensor
from ..tensor.batching import any_batched, levels
from ..utils import _pytree as pytree
from .arguments import bind
from .dispatch_keys import DispatchKey, autocasts
from .inference import infer_schema
from .schema import parse_schema
from .table import Operator, find, put

Kernel = Callable[..., Any]


class CustomOpDef(Operator):
    """An operator made with ``custom_op``: call it, or ``torch.ops.namespace.name``.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("examples::half_of", mutates_args=())
    ... def half_of(x: torch.Tensor) -> torch.Tensor:
    ...     return x / 2
    >>> half_of(torch.ones(1)), torch.ops.examples.half_of(torch.ones(1))
    (tensor([0.5000]), tensor([0.5000]))
    """

    def __init__(self, qualname: str, fn: Kernel | None, mutates_args: str | Iterable[str] = (),
                 device_types: str | Sequence[str] | None = None, schema: str | None = None) -> None:
        super().__init__(qualname)
        self.schema = None if schema is None else parse_schema(qualname + schema)
        self._init_fn = fn
        self._signature = None if fn is None else inspect.signature(fn)
        self._mutates = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        self._kernels: dict[str | None, Kernel] = {}
        self._fake: Kernel | None = None
        self._backward: Kernel | None = None
        self._setup: Kernel | None = None
        self._function: type[Function] | None = None
        self._vmap: Kernel | None = None
        self._autocast: dict[DispatchKey, Kernel] = {}
        self._derived: Kernel | None = None
        if fn is not None:
            self._add_kernel(device_types, fn)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def _add_kernel(self, device_types: str | Sequence[str | None] | None, fn: Kernel) -> None:
        for kind in [device_types] if isinstance(device_types, str) or device_types is None else device_types:
            self._kernels[None if kind == "default" else kind] = fn
        if self._signature is None:
            self._signature = inspect.signature(fn)

    def register_kernel(self, device_types: str | Sequence[str | None] | None, fn: Kernel | None = None,
                        /) -> Any:
        """Compute with ``fn`` on tensors of a type of device; a decorator where it is left out.

        >>> import flambeau as torch
        >>> @torch.library.custom_op("examples::third_of", mutates_args=())
        ... def third_of(x: torch.Tensor) -> torch.Tensor:
        ...     return x / 3
        >>> @third_of.register_kernel("cpu")
        ... def _(x):
        ...     return x * 10
        >>> third_of(torch.ones(1))
        tensor([10.])
        """
        def register(fn: Kernel) -> Kernel:
            self._add_kernel(device_types, fn)
            return fn
        return register if fn is None else register(fn)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """Compute with ``fn`` on tensors of the meta device: shapes without values.

        >>> import flambeau as torch
        >>> @torch.library.custom_op("examples::rows_of", mutates_args=())
        ... def rows_of(x: torch.Tensor) -> torch.Tensor:
        ...     return x[:, 0].clone()
        >>> @rows_of.register_fake
        ... def _(x):
        ...     return x.new_empty(x.shape[0])
        >>> rows_of(torch.ones(3, 2, device="meta")).shape
        torch.Size([3])
        """
        self._fake = fn
        return fn

    def register_vmap(self, func: Kernel | None = None) -> Any:
        """Compute with ``func(info, in_dims, *args) -> (result, out_dims)`` under vmap; also a decorator.

        >>> import flambeau as torch
        >>> @torch.library.custom_op("examples::negative", mutates_args=())
        ... def negative(x: torch.Tensor) -> torch.Tensor:
        ...     return -x
        >>> @negative.register_vmap
        ... def _(info, in_dims, x):
        ...     return negative(x), in_dims[0]
        >>> torch.vmap(negative)(torch.ones(2, 3)).shape
        torch.Size([2, 3])
        """
        def register(func: Kernel) -> None:
            self._vmap, self._function = func, None
        return register if func is None else register(func)

    def register_autocast_kernel(self, key: DispatchKey, fn: Kernel) -> None:
        """Compute with ``fn`` while autocast is on for the key's type of device."""
        self._autocast[key] = fn

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> Kernel:
        """While autocast is on for a type of device, compute in ``cast_inputs``, with autocast off.

        Floating tensors of that device are cast, but those of float64.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = device(device_type).type

        def cast(x: Any) -> Any:
            lowered = isinstance(x, Tensor) and x.is_floating_point() and x.device.type == kind \
                and x.dtype is not float64
            return x.to(cast_inputs) if lowered else x

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with autocast(kind, enabled=False):
                return self(*pytree.tree_map(cast, args), **pytree.tree_map(cast, kwargs))
        key = DispatchKey.__members__.get(f"Autocast{kind.upper()}")
        if key is not None:
            self._autocast.setdefault(key, kernel)  # as in PyTorch the first one stays
        return kernel

    def register_autograd_kernel(self, fn: Kernel) -> None:
        """Compute with ``fn``, which records gradients itself, where one is asked for."""
        self._derived = fn

    def autocast_kernel(self) -> Kernel | None:
        """The kernel for the autocast that is on."""
        return next((fn for key, fn in self._autocast.items() if autocasts(key)), None)

    def register_autograd(self, backward: Kernel, /, *, setup_context: Kernel | None = None) -> None:
        """``backward(ctx, *grads)`` gives gradients; ``setup_context(ctx, inputs, output)`` saves for it.

        >>> import flambeau as torch
        >>> @torch.library.custom_op("examples::cube", mutates_args=())
        ... def cube(x: torch.Tensor) -> torch.Tensor:
        ...     return x ** 3
        >>> cube.register_autograd(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        ...                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> cube(x).backward(); x.grad
        tensor(12.)
        """
        self._backward, self._setup, self._function = backward, setup_context, None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._autocast and (kernel := self.autocast_kernel()) is not None:
            return kernel(*args, **kwargs)
        inputs = self._normalized(args, kwargs)
        leaves = pytree.tree_leaves(inputs)
        differentiates = is_grad_enabled() and not self._mutates and any(
            isinstance(x, Tensor) and x.requires_grad for x in leaves)
        if differentiates and self._derived is not None:
            return self.call_with(self._derived, inputs)
        if differentiates or (self._vmap is not None and levels and any_batched(leaves)):
            if self._function is None:
                self._function = _differentiable(self)
            return self._function.apply(*inputs)
        return self.compute(inputs)

    def _normalized(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults filled in."""
        if self.schema is not None:
            return tuple(bind(self.schema, args, kwargs))
        if self._signature is None:
            raise NotImplementedError(f"There were no kernels registered for {self.qualname}")
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return (*bound.args, *bound.kwargs.values())

    def compute(self, inputs: tuple[Any, ...]) -> Any:
        """The result without a gradient."""
        tensors = [x for x in pytree.tree_leaves(inputs) if isinstance(x, Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        kernel = self._kernel_for(kind)
        with no_grad():
            result = self.call_with(kernel, inputs)
        self._count_writes(inputs)
        given = {id(x) for x in tensors}
        if any(id(x) in given for x in pytree.tree_leaves(result) if isinstance(x, Tensor)):
            raise RuntimeError(
                f"{self.qualname}: The output of this custom operator (1) must not also be an input to this "
                "custom operator and (2) may not alias any inputs to this custom operator or other returns. "
                "The most common way to trigger this error is if we have y = custom_op(x) and y and x are "
                "the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. "
                "return x.clone()) or refactor the custom operator to not return y.")
        return result

    def _kernel_for(self, kind: str) -> Kernel:
        if kind == "meta" and self._fake is not None:
            return self._fake
        kernel = self._kernels.get(kind, self._kernels.get(None))
        if kind == "meta" and self._init_fn is not None and kind not in self._kernels:
            raise RuntimeError(
                f"There was no fake impl registered for {self!r}. This is necessary for "
                "torch.compile/export/fx tracing to work. Please use "
                f"`{getattr(self._init_fn, '__name__', self.name)}.register_fake` to "
                "add an fake impl.")
        if kernel is None:
            raise NotImplementedError(f"{self.qualname} has no kernel for the device {kind}")
        return kernel

    def call_with(self, kernel: Kernel, inputs: tuple[Any, ...]) -> Any:
        """Call a kernel with the arguments of the schema, some of which go by keyword."""
        named = [] if self.schema is None else [a.name for a in self.schema.arguments if a.kwarg_only]
        first = len(inputs) - len(named)
        return kernel(*inputs[:first], **dict(zip(named, inputs[first:])))

    def _count_writes(self, inputs: tuple[Any, ...]) -> None:
        """Whoever saved what the operator writes must learn of it, however the kernel did it."""
        if self.schema is not None:
            written = [x for x, a in zip(inputs, self.schema.arguments) if a.is_write]
            increment_version([x for x in pytree.tree_leaves(written) if isinstance(x, Tensor)])


def _differentiable(op: CustomOpDef) -> type[Function]:
    """The autograd Function of an operator."""
    def forward(*inputs: Any) -> Any:
        return op.compute(inputs)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if op._setup is not None:
            named = [] if op.schema is None else [a.name for a in op.schema.arguments if a.kwarg_only]
            first = len(inputs) - len(named)
            if named:
                op._setup(ctx, inputs[:first], dict(zip(named, inputs[first:])), output)
            else:
                op._setup(ctx, inputs, output)

    def backward(ctx: Any, *grads: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(f"Trying to backward through {op.default} but no autograd formula was "
                               "registered. Please use register_autograd to add one.")
        return op._backward(ctx, *grads)

    body = {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward)}
    if op._vmap is not None:
        body["vmap"] = staticmethod(op._vmap)
    made: type[Function] = type(f"GeneratedBackwardFor_{op.namespace}_{op.name}_default", (Function,), body)
    return made


def triton_op(name: str, fn: Kernel | None = None, /, *, mutates_args: str | Iterable[str],
              schema: str | None = None) -> Any:
    """``custom_op`` of a function that starts kernels of Triton on a GPU; elsewhere it is like any other."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any) -> Any:
    """A kernel of Triton as ``triton_op`` takes it: there is no device for one."""
    raise ModuleNotFoundError("No module named 'triton'", name="triton")


def custom_op(name: str, fn: Kernel | None = None, /, *, mutates_args: str | Iterable[str],
              device_types: str | Sequence[str] | None = None, schema: str | None = None,
              tags: Any = None) -> Any:
    """Make an operator ``"namespace::name"`` of a function; a decorator where the function is left out.

    The function works on values that need no gradient; ``register_autograd`` of what comes back adds one.
    With ``device_types`` it is the kernel for these only.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("doc::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> twice.register_autograd(lambda ctx, grad: grad * 2)
    >>> torch.ops.doc.twice(torch.ones(2))
    tensor([2., 2.])
    """
    namespace, colons, rest = name.partition("::")
    if not colons or not namespace or not rest:
        raise ValueError(f"Expected `name` to be of the form `namespace::name`, got {name!r}")

    def make(fn: Kernel) -> CustomOpDef:
        text = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        op = CustomOpDef(name, fn, mutates_args, device_types, text)
        put(op)
        return op
    return make if fn is None else make(fn)


def resolve(op: Any) -> CustomOpDef:
    """An operator, given by itself, by its overload, or by its name."""
    found: Any = op
    if not isinstance(op, Operator):
        found = find(op) if isinstance(op, str) else getattr(op, "operator", None)
    if found is None:
        raise RuntimeError(f"operator {op} does not exist")
    return found


def register_fake(op: Any, func: Kernel | None = None, /, *, lib: Any = None, _stacklevel: int = 1,
                  allow_override: bool = True) -> Any:
    """``CustomOpDef.register_fake`` of an operator or its name; a decorator without ``func``."""
    return resolve(op).register_fake if func is None else resolve(op).register_fake(func)


def register_autograd(op: Any, backward: Kernel, /, *, setup_context: Kernel | None = None,
                      lib: Any = None) -> None:
    """``CustomOpDef.register_autograd`` of an operator or its name.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("examples::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> torch.library.register_autograd("examples::twice", lambda ctx, grad: 2 * grad)
    >>> x = torch.ones(1, requires_grad=True)
    >>> twice(x).backward(); x.grad
    tensor([2.])
    """
    resolve(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: str | Sequence[str] | None, func: Kernel | None = None, /, *,
                    lib: Any = None) -> Any:
    """``CustomOpDef.register_kernel`` of an operator or its name; a decorator without ``func``.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("examples::slow_sum", mutates_args=())
    ... def slow_sum(x: torch.Tensor) -> torch.Tensor:
    ...     return x.sum()
    >>> @torch.library.register_kernel("examples::slow_sum", "cpu")
    ... def _(x):
    ...     return x.sum() * 100
    >>> slow_sum(torch.ones(2))
    tensor(200.)
    """
    return resolve(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Kernel | None = None, /, *, lib: Any = None) -> Any:
    """``CustomOpDef.register_vmap`` of an operator or its name; a decorator without ``func``.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("examples::plus_one", mutates_args=())
    ... def plus_one(x: torch.Tensor) -> torch.Tensor:
    ...     return x + 1
    >>> @torch.library.register_vmap("examples::plus_one")
    ... def _(info, in_dims, x):
    ...     return plus_one(x), in_dims[0]
    >>> torch.vmap(plus_one)(torch.zeros(2))
    tensor([1., 1.])
    """
    return resolve(op).register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: dtype, /, *, lib: Any = None) -> Kernel:
    """``CustomOpDef.register_autocast`` of an operator or its name.

    >>> import flambeau as torch
    >>> @torch.library.custom_op("doc::tripled", mutates_args=())
    ... def tripled(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    >>> _ = torch.library.register_autocast(tripled, "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     tripled(torch.ones(1))
    tensor([3.], dtype=torch.bfloat16)
    """
    return resolve(op).register_autocast(device_type, cast_inputs)
