"""Parameters and buffers: the tensors that a module owns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from .. import operators as ops
from ..autograd import no_grad
from ..operators.calls.arguments import type_in_words
from ..tensor import Tensor
from ..tensor.overrides import disabled_torch_function
from ..tensor.recording.record import plain_classes

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _MarkedTensorType(type(Tensor)):  # type: ignore[misc]
    """Metaclass by which a tensor of another class counts as an instance when it carries the mark.

    A parameter made from a user's own tensor class keeps that class (its behaviour must survive), so it says
    with an attribute that it is a parameter.
    """

    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        # Only the two public classes look at the mark: a marked tensor is not a user's subclass of them.
        mark = cls.__dict__.get("_mark")
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)


_ParameterMeta = _BufferMeta = _MarkedTensorType  # the names that libraries derive from


def _keep_own_class(data: Tensor, requires_grad: bool) -> Tensor:
    """Return `data`, an instance of a user's tensor class, detached, or explain why its class is
    unsuitable."""
    detached = data.detach().requires_grad_(requires_grad)
    if type(detached) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
            f"returns an instance of the same type, but return type {type(detached).__name__} was found "
            "instead. To use the type as a Parameter, please correct the detach() semantics defined by its "
            "__torch_dispatch__() implementation."
        )
    return detached


class Parameter(Tensor, metaclass=_MarkedTensorType):
    """A tensor that a module trains: assigning it to an attribute of a module registers it.

    >>> import flambeau as torch
    >>> layer = torch.nn.Module()
    >>> layer.scale = torch.nn.Parameter(torch.ones(2))
    >>> [name for name, _ in layer.named_parameters()]
    ['scale']
    """

    _mark = "_is_param"
    __torch_function__ = disabled_torch_function        # results of subclasses are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = ops.empty(0)
        if requires_grad.__class__ is not bool:
            raise TypeError("_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                            f"{type_in_words(requires_grad)}")
        if type(data) is Tensor or type(data) is Parameter or isinstance(data, Buffer):
            return Tensor._make_subclass(cls, data, requires_grad)
        marked: Any = _keep_own_class(data, requires_grad)
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        with no_grad():
            result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if Tensor.__module__ == "torch":
            made: Any = Tensor.__reduce_ex__(self, protocol)
            return tuple(made)
        state = {
            key: value for key, value in getattr(self, "__dict__", {}).items() if not key.startswith("_")
        }
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict(), state)


class Buffer(Tensor, metaclass=_MarkedTensorType):
    """A tensor that belongs to a module's state but is not trained, such as a running mean.

    With `persistent=False` it moves and converts with the module but stays out of its state dict.

    >>> import flambeau as torch
    >>> layer = torch.nn.Module()
    >>> layer.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(layer.state_dict())
    ['mean']
    """

    _mark = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = ops.empty(0)
        marked: Any = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


plain_classes += Parameter, Buffer


def _rebuild_parameter(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any] | None = None
) -> Parameter:
    """Make a parameter again from what `Parameter.__reduce_ex__` stored."""
    parameter = Parameter(data, requires_grad)
    if backward_hooks:
        parameter._backward_hooks = backward_hooks  # type: ignore[attr-defined]
    for key, value in (state or {}).items():
        setattr(parameter, key, value)
    return parameter


# The methods that need no shape.
_SHAPELESS = frozenset(
    [
        "bfloat16", "char", "copy_", "cpu", "cuda", "detach", "double", "float", "half", "int", "is_complex",
        "is_floating_point", "long", "materialize", "requires_grad_", "short", "to", "type", "zero_",
    ]
)  # fmt: skip


class UninitializedTensorMixin:
    """What the placeholders of lazy modules share: a dtype and a device, but no shape yet."""

    _overrides = False
    _becomes: type[Tensor] = Tensor

    def materialize(
        self, shape: int | tuple[int, ...], device: Any | None = None, dtype: Any | None = None
    ) -> None:
        """Become an ordinary parameter or buffer of the given shape, with uninitialised values.

        >>> import flambeau as torch
        >>> weight = torch.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape
        torch.Size([2, 3])
        """
        tensor: Any = self
        device = tensor.data.device if device is None else device
        dtype = tensor.data.dtype if dtype is None else dtype
        tensor.data = ops.empty(shape, device=device, dtype=dtype)
        tensor.__class__ = self._becomes

    def __getattribute__(self, name: str) -> Any:
        if name in ("shape", "size"):
            raise RuntimeError(
                "Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
                "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
                "one. Call `forward` to initialize the parameters before accessing their attributes."
            )
        if name == "share_memory_":
            raise RuntimeError(
                "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                "the parameters before calling `module.share_memory()`."
            )
        if not name.startswith("_") and name not in _SHAPELESS \
                and callable(method := getattr(Tensor, name, None)):    # attributes are told
            _refuse(method)
        return super().__getattribute__(name)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"


def _refuse(function: object) -> NoReturn:
    raise ValueError(
        f"Attempted to use an uninitialized parameter in {function}. This error happens when you are using a "
        "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When "
        "using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
        "torch functions"
    )


def _refusing(name: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(getattr(Tensor, name))

    return method


# Operators are looked up on the class and so pass __getattribute__ by.
for _operator in (
    "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__", "__mul__", "__rmul__", "__imul__",
    "__truediv__", "__rtruediv__", "__itruediv__", "__matmul__", "__rmatmul__", "__pow__", "__rpow__",
    "__neg__",
    "__getitem__", "__setitem__", "__len__", "__iter__", "__bool__", "__float__", "__int__", "__lt__",
    "__le__",
    "__gt__", "__ge__",
):  # fmt: skip
    setattr(UninitializedTensorMixin, _operator, _refusing(_operator))


def is_lazy(parameter: object) -> bool:
    """Tell whether a parameter or buffer still waits for its shape.

    >>> import flambeau as torch
    >>> from flambeau.nn.parameter import is_lazy
    >>> is_lazy(torch.nn.UninitializedParameter()), is_lazy(torch.nn.Parameter(torch.ones(2)))
    (True, False)
    """
    return isinstance(parameter, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is learned at the first call of its lazy module.

    >>> import flambeau as torch
    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, tuple(weight.shape)
    ('Parameter', (2, 3))
    """

    _becomes = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any | None = None, dtype: Any | None = None
    ) -> UninitializedParameter:
        return Tensor._make_subclass(cls, ops.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is learned at the first call of its lazy module.

    >>> import flambeau as torch
    >>> torch.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any | None = None,
        dtype: Any | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        buffer = Tensor._make_subclass(cls, ops.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.requires_grad, self.data.device, self.data.dtype, self.persistent
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype, self.persistent)
