"""Conversions of element type and device: ``to`` and its short forms."""

from __future__ import annotations

import builtins
from typing import Any

from ... import devices, dtypes
from ...devices import META
from ...graph.geometry import Geometry, dense_like, intern
from ...graph.operator import OnStacks
from ...tensor import Tensor, record_one
from ..calls.arguments import require_bool, type_in_words
from ..calls.complaints import require as require_kind
from ..calls.keywords import Judge
from ..declaration.definition import operator, result_dtype
from ..declaration.registry import api
from .memory_formats import suggested_format


def _cast_geometry(operands: Any, attributes: Any) -> Geometry:
    g, (dtype, device) = operands[0], attributes
    if g.device is META and device is not META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if g.is_dense:
        return intern(g.shape, g.strides, 0, dtype, device)
    return dense_like(g.shape, g, dtype)


def _cast_kernel(m: Any, input: Any, dtype: Any, device: Any) -> Any:
    return m.cast(input, dtype.numpy)


CAST = operator("to_copy", _cast_geometry, kind="conversion")(_cast_kernel)
CAST.on_stacks = OnStacks()


@CAST.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad  # the engine casts it back


def cast(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    """``x`` in another element type; ``x`` itself where it has that type."""
    g = x._geometry
    if g.dtype is dtype:
        return x
    if dtype.__class__ is not dtypes.dtype:
        return cast(x, dtypes.given(dtype, "to"))
    return record_one(CAST, x, (dtype, g.device))


@api("Tensor")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another element type or on another device; itself where nothing changes.

    Forms: ``to(dtype)``, ``to(device, dtype)``, ``to(other)``, each with ``non_blocking=``, ``copy=`` and
    ``memory_format=``.

    >>> import flambeau as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    if len(args) == 1 and (not kwargs or (len(kwargs) == 1 and kwargs.get("non_blocking").__class__ is bool)):
        like, g = args[0], self._geometry
        if like.__class__ is dtypes.dtype:
            return cast(self, like)
        if like.__class__ in _DEVICES and devices.resolve(like) is g.device:
            return self
        if like.__class__ is Tensor and like._geometry.dtype is g.dtype and like._geometry.device is g.device:
            return self
    device, dtype, copy, memory_format = _read_to(args, dict(kwargs))
    g = self._geometry
    target = g.device if device is None else devices.resolve(device)
    if (dtype is not None and dtype is not g.dtype) or target is not g.device:
        result: Tensor = record_one(CAST, self, (dtype or g.dtype, target))
    else:
        result = self.clone() if copy else self
    if memory_format is None or (result is self and suggested_format(g) is memory_format):
        return result
    return result.clone(memory_format=memory_format)


_DEVICES = frozenset((str, devices.device))


def _read_to(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, copy, memory_format) from the arguments of ``to``."""
    given = args, dict(options)
    memory_format = options.pop("memory_format", None)
    if memory_format is not None and str(memory_format).endswith("preserve_format"):
        memory_format = None
    other = options.pop("other", None)
    if other is None and args and isinstance(args[0], Tensor):
        other, args = args[0], args[1:]
    if other is not None:
        device, dtype, names = other.device, other.dtype, ["non_blocking", "copy"]
    elif args and isinstance(args[0], (dtypes.dtype, builtins.type)):
        device, dtype, args, names = options.pop("device", None), args[0], args[1:], ["non_blocking", "copy"]
    else:
        device, dtype, names = None, None, ["device", "dtype", "non_blocking", "copy"]
    if len(args) > len(names) or any(name in options for name in names[:len(args)]):
        raise _bad_to(*given)
    options.update(zip(names, args))
    device, dtype = options.pop("device", device), options.pop("dtype", dtype)
    non_blocking, copy = options.pop("non_blocking", False), options.pop("copy", False)
    if non_blocking.__class__ is not bool or copy.__class__ is not bool:
        raise _bad_to(*given)
    if isinstance(dtype, builtins.type):
        dtype = dtypes.PYTHON_TYPES.get(dtype, dtype)
    if options or not (dtype is None or isinstance(dtype, dtypes.dtype)) \
            or not (device is None or isinstance(device, (str, int, devices.device))):
        raise _bad_to(*given)
    return device, dtype, bool(copy), memory_format


def _bad_to(args: tuple[Any, ...], options: dict[str, Any]) -> TypeError:
    given = [type_in_words(a) for a in args]
    given += [f"{name}={type_in_words(a)}" for name, a in reversed(options.items())]
    end = "" if args or not options else ", "
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(given)}{end}), but expected "
        "one of:\n"
        " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = "
        "False, *, torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = "
        "False, bool copy = False, *, torch.memory_format memory_format = None)\n * (Tensor tensor, bool "
        "non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
    )


def _short_form(name: str, dtype: dtypes.dtype, judge: Judge = "late") -> None:
    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        converted = cast(self, dtype)
        return converted if memory_format is None else converted.to(memory_format=memory_format)
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"""``self.to(torch.{dtype.name})``.

    >>> import flambeau as torch
    >>> torch.ones(2).{name}().dtype is torch.{dtype.name}
    True
    """
    api("Tensor", judge=judge)(convert)


for _name, _dtype in (
    ("float", dtypes.float32), ("double", dtypes.float64), ("half", dtypes.float16),
    ("bfloat16", dtypes.bfloat16), ("byte", dtypes.uint8), ("char", dtypes.int8), ("short", dtypes.int16),
    ("int", dtypes.int32), ("long", dtypes.int64), ("bool", dtypes.bool_), ("cfloat", dtypes.complex64),
    ("cdouble", dtypes.complex128),
):
    _short_form(_name, _dtype)
_short_form("chalf", dtypes.complex32, judge="first")


def _older_form(dtype: dtypes.dtype) -> None:
    def convert(input: Tensor, non_blocking: bool = False) -> Tensor:
        return cast(input, dtype)
    convert.__name__ = convert.__qualname__ = f"_cast_{dtypes.SCALAR_NAMES[dtype]}"
    convert.__doc__ = f"``input.to(torch.{dtype.name})``."
    api("torch", judge="first")(convert)


for _dtype in (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16,
               dtypes.float32, dtypes.float64):
    _older_form(_dtype)

# Old names of tensor types: "torch.FloatTensor" and the like.
TYPE_NAMES = {
    d: f"torch.{dtypes.SCALAR_NAMES[d]}Tensor" for d in dtypes.ALL
}
_FROM_TYPE_NAME = {name: d for d, name in TYPE_NAMES.items()}


@api("Tensor", as_is=("dtype",))
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the type; or the tensor as a dtype (also given by a type's name or a tensor type).

    >>> import flambeau as torch
    >>> torch.ones(1).type()
    'torch.FloatTensor'
    """
    require_bool("type", "non_blocking", non_blocking)
    if dtype is None:
        return TYPE_NAMES[self._geometry.dtype]
    if isinstance(dtype, dtypes.dtype):
        return cast(self, dtype)
    if not isinstance(dtype, (str, builtins.type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    found = _FROM_TYPE_NAME.get("torch." + name.rsplit(".", 1)[-1])
    if found is None:
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
    return cast(self, found)


@api("Tensor")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the element type of ``other``.

    >>> import flambeau as torch
    >>> torch.tensor([1.5]).type_as(torch.tensor([1]))
    tensor([1])
    """
    return self.to(other)


@api("Tensor")
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor in main memory: itself, where it lies there already.

    >>> import flambeau as torch
    >>> torch.ones(1).cpu().device
    device(type='cpu')
    """
    if memory_format is not None:
        require_kind("cpu", 0, "torch.memory_format", "memory_format", memory_format)
    return self if self._geometry.device is devices.CPU else self.to("cpu")


@api("Tensor")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a CUDA device; raises where there is none."""
    return self.to("cuda" if device is None else device)


@api("Tensor")
def xpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises: there is no such device."""
    raise AssertionError("Torch not compiled with XPU enabled")


@api("Tensor")
def mtia(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises: there is no such device."""
    raise AssertionError("Torch not compiled with MTIA enabled.")


@api("Tensor")
def ipu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises: there is no such device."""
    raise RuntimeError("PyTorch is not linked with support for ipu devices")


@api("Tensor")
def record_stream(self: Tensor, stream: Any) -> None:
    """Raises, as for every tensor that is not on a device with streams."""
    raise NotImplementedError("Could not run 'aten::record_stream' with arguments from the 'CPU' backend.")


@api("torch", "Tensor")
def dequantize(self: Tensor) -> Tensor:
    """The tensor in float32: there are no quantized ones.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.float16).dequantize().dtype
    torch.float32
    """
    return self.to(dtypes.float32)


@api("torch", name="is_complex")
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    >>> import flambeau as torch
    >>> torch.is_complex(torch.ones(1))
    False
    """
    return input._geometry.dtype.is_complex


@api("torch", name="is_floating_point")
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating-point numbers.

    >>> import flambeau as torch
    >>> torch.is_floating_point(torch.ones(1))
    True
    """
    return input._geometry.dtype.is_floating_point


@api("torch")
def is_signed(input: Tensor) -> bool:
    """Whether the element type has negative numbers.

    >>> import flambeau as torch
    >>> torch.is_signed(torch.ones(1, dtype=torch.uint8))
    False
    """
    return input._geometry.dtype.is_signed


@api("torch", judge="first")
def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The type that arithmetic on the two operands (tensors or numbers) would give.

    >>> import flambeau as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return result_dtype([x._geometry if isinstance(x, Tensor) else x.__class__ for x in (tensor1, tensor2)])
