"""``torch.ops.aten``: this library's operators under the names that PyTorch's dispatcher gives them.

``aten.add.Tensor`` and ``aten.add.Scalar`` are one function here, so every variant of a name calls it. The
objects are made once for a name: they can be keys of tables, as in rules for ``__torch_dispatch__`` and
policies of selective checkpointing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.declaration.registry import NAMESPACES
from ..sparse import addmm
from ..sparse.products import reduced_mm
from .table import Operator, Overload, Packet, packet_finders

# The names that PyTorch gives to variants of one operator.
_VARIANTS = frozenset("""
Scalar ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype Scalar_Tensor Scalar_mode Tensor Tensor_Scalar
Tensor_Tensor Tensor_mode bool complex correction decimals default device dim dim_IntList dim_int dims dtype
dtype_layout float float_Tensor float_float generator indices int int_Scalar int_Tensor int_int left_t low
low_dtype low_generator max memory_format min names other other_scalar out padding prim_Device prim_dtype
reduce self self_Tensor self_int self_scalar sections self_out sizes src stable start start_step str t
tensor_indices_or_sections two unary_out value values values_stable vec dim_max dim_min n_scalar x_scalar
""".split())

_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _to_copy(x: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
             non_blocking: bool = False, memory_format: Any = None) -> Any:
    return x.to(dtype=dtype or x.dtype, device=device or x.device, copy=True)


def _sparse_addmm(x: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return addmm(x, mat1, mat2, beta=beta, alpha=alpha)


# The dispatcher's own names for what the public interface does under another name.
_OWN: dict[str, Callable[..., Any]] = {
    "_to_copy": _to_copy,
    "_unsafe_view": lambda x, size: x.view(size),
    "_local_scalar_dense": lambda x: x.item(),
    "_log_softmax": lambda x, dim, half_to_float: x.log_softmax(dim),
    "_softmax": lambda x, dim, half_to_float: x.softmax(dim),
    "_pin_memory": lambda x, device=None: x.pin_memory(),
    "_conj": lambda x: x.conj(),
    "_sparse_addmm": _sparse_addmm,
    "_sparse_mm_reduce_impl": lambda a, b, reduce="sum": (reduced_mm(a, b, reduce), None),
    "_convolution": lambda x, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
    *settings: NAMESPACES["torch"]["convolution"](x, weight, bias, stride, padding, dilation, transposed,
                                                  output_padding, groups),
    "alias": lambda x: x.view_as(x),
    "index": lambda x, indices: x[tuple(slice(None) if i is None else i for i in indices)],
    "slice": lambda x, dim=0, start=None, end=None, step=1: x[
        (slice(None),) * (dim % x.ndim) + (slice(start, end, step),)],
    "sym_size": lambda x, dim=None: x.size() if dim is None else x.size(dim),
    "sym_stride": lambda x, dim=None: x.stride() if dim is None else x.stride(dim),
    "sym_numel": lambda x: x.numel(),
}


def _function(name: str) -> Callable[..., Any] | None:
    if name in _OWN:
        return _OWN[name]
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix):
            return NAMESPACES[namespace].get(name.removeprefix(prefix))
    return next((NAMESPACES[space][name] for space in ("torch", "Tensor", "nn.functional")
                 if name in NAMESPACES[space]), None)


class _AtenOperator(Operator):
    """An operator by the dispatcher's name; looked up at each call (Note: overrides)."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = _function(self.name)
        assert function is not None
        return function(*args, **kwargs)


class _AtenPacket(Packet):
    """``torch.ops.aten.name`` with all its variants."""

    def __getattr__(self, variant: str) -> Overload:
        if variant not in _VARIANTS:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{variant}'")
        made = self.__dict__[variant] = Overload(self.operator, variant)
        return made


_packets: dict[str, Packet] = {}


def packet(name: str) -> Packet | None:
    """``torch.ops.aten.name``, if there is such an operator here."""
    if name not in _packets:
        if name.startswith("__") or _function(name) is None:
            return None
        _packets[name] = _AtenPacket(_AtenOperator(f"aten::{name}"))
    return _packets[name]


packet_finders.append(lambda operator: packet(operator.name) if isinstance(operator, _AtenOperator) else None)
