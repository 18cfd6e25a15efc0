"""Moving a module's tensors to another device or data type."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from ... import __future__ as future
from ... import operators as ops
from ...autograd import no_grad
from ...devices import device as Device
from ...dtypes import PYTHON_TYPES
from ...dtypes import dtype as DType
from ...layouts import memory_format as MemoryFormat
from ...operators.calls.arguments import type_in_words
from ...tensor import Tensor
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter, is_lazy
from ._traversal import ModuleTraversal

_TO_SIGNATURES = (
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, "
    "*, "
    "torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format "
    "memory_format = "
    "None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = "
    "None)\n"
)


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Read the arguments of `Module.to` as (device, dtype, non_blocking, memory_format)."""
    rest = list(args)
    options = dict(kwargs)
    device = options.pop("device", None)
    dtype = options.pop("dtype", None)
    other = options.pop("tensor", None)
    memory_format = options.pop("memory_format", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and _is_dtype(rest[0]):
        dtype = rest.pop(0)
    elif rest and (
        rest[0] is None or (isinstance(rest[0], (str, int, Device)) and not isinstance(rest[0], bool))
    ):
        device = rest.pop(0)
        if rest and (rest[0] is None or _is_dtype(rest[0])):
            dtype = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    non_blocking = options.pop("non_blocking", rest.pop(0) if rest and isinstance(rest[0], bool) else False)
    if options.pop("copy", rest.pop(0) if rest and isinstance(rest[0], bool) else False):
        raise RuntimeError(".to() does not accept copy argument")
    dtype = PYTHON_TYPES.get(dtype, dtype) if isinstance(dtype, type) else dtype
    if rest or options or non_blocking.__class__ is not bool \
            or not (dtype is None or isinstance(dtype, DType)) \
            or not (memory_format is None or isinstance(memory_format, MemoryFormat)):
        raise _bad_to(args, kwargs)
    return None if device is None else Device(device), dtype, non_blocking, memory_format


def _bad_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    given = ", ".join(
        [type_in_words(a) for a in args]
        + [f"{key}={type_in_words(value)}" for key, value in reversed(kwargs.items())]
    ) + ", " * (not args)
    return TypeError(
        f"to() received an invalid combination of arguments - got ({given}), but expected one of:\n"
        + _TO_SIGNATURES
    )


def _is_dtype(argument: Any) -> bool:
    return isinstance(argument, DType) or (isinstance(argument, type) and argument in PYTHON_TYPES)


def _changes_kind(parameter: Tensor, data: Tensor) -> bool:
    """Whether one of the two has values and the other has none, so that neither can stand for the other."""
    return not is_lazy(parameter) and data.is_meta != parameter.is_meta


class ModuleConversion(ModuleTraversal):
    """The part of `Module` that replaces every tensor by a converted one."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace each parameter's data, its gradient's data and each buffer by `fn` of it.

        Parameters keep their identity, so an optimizer that was given them stays valid, unless
        ``torch.__future__`` asks for new ones.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = self._converted(name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None and is_lazy(buffer):
                buffer.data = fn(buffer)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _converted(self, name: str, parameter: Any, fn: Callable[[Tensor], Tensor]) -> Any:
        """The parameter after its conversion: the same object, or a new one if that is wished for."""
        with no_grad():
            data = fn(parameter)
            grad = None if parameter.grad is None else fn(parameter.grad)
        if grad is not None:
            # A fresh tensor: a gradient of another type must not be set through the old one.
            grad = grad.detach().requires_grad_(parameter.grad.requires_grad)
        if future.get_swap_module_params_on_conversion():
            try:
                replacement = Parameter(data, requires_grad=parameter.requires_grad)
                replacement.grad = grad
                swap_tensors(parameter, replacement)
            except Exception as error:
                raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        elif future.get_overwrite_module_params_on_conversion() or _changes_kind(parameter, data):
            parameter = Parameter(data, requires_grad=parameter.requires_grad)
            parameter.grad = grad
        else:
            parameter.data = data
            if grad is not None:
                parameter.grad = grad
        return parameter

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every module below and on this one, children first; typically to initialise.

        >>> import flambeau as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(1, 1))
        >>> net.apply(lambda module: print(type(module).__name__))
        Linear
        Sequential
        Sequential(
          (0): Linear(in_features=1, out_features=1, bias=True)
        )
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device and cast floating-point and complex tensors to a dtype, in place.

        Accepts `to(device, dtype)`, `to(dtype)`, `to(tensor)` and `to(memory_format=...)`.

        >>> import flambeau as torch
        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and "
                "some modules might not work as expected when using complex tensors as parameters or "
                "buffers. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module "
                "does not work as expected.",
                stacklevel=2,
            )

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use "
                                          "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                                          "moving module from meta to a different device.")
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, target, non_blocking, memory_format=memory_format)
            return tensor.to(device, target, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values, which become undefined.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1, device="meta").to_empty(device="cpu")
        >>> torch.nn.init.ones_(layer.weight).tolist()
        [[1.0, 1.0]]
        """
        return self._apply(lambda tensor: ops.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any | None = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: Any | None = None) -> Self:
        """Raises: there is no XPU."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device: Any | None = None) -> Self:
        """Raises: there is no MTIA."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def ipu(self, device: Any | None = None) -> Self:
        """Raises: there is no IPU."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integral ones included, to `dst_type`.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).type(torch.float64).bias.dtype
        torch.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast_floating(self, convert: Callable[[Tensor], Tensor]) -> Self:
        return self._apply(lambda tensor: convert(tensor) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).double().float().weight.dtype
        torch.float32
        """
        return self._cast_floating(lambda tensor: tensor.float())

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).double().weight.dtype
        torch.float64
        """
        return self._cast_floating(lambda tensor: tensor.double())

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).half().weight.dtype
        torch.float16
        """
        return self._cast_floating(lambda tensor: tensor.half())

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).bfloat16().weight.dtype
        torch.bfloat16
        """
        return self._cast_floating(lambda tensor: tensor.bfloat16())

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that processes share: what one of them writes all see.

        >>> import flambeau as torch
        >>> torch.nn.Linear(2, 1).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda tensor: tensor.share_memory_())
