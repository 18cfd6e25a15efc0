"""Making sparse tensors: ``sparse_coo_tensor``, ``sparse_csr_tensor`` and their kin, and what they check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np

from .. import dtypes, layouts
from .. import operators as ops
from ..operators.declaration.registry import api
from ..operators.interop.looking import look
from ..size import Size
from ..tensor import Tensor
from ..tensor.recording.history import detached
from ..tensor.tape import state
from .compressed import CompressedTensor, compressed
from .compressing import BLOCKED, BY_ROW, NAMES, WORDS
from .kernels import named
from .tensor import CooTensor, coo


class check_sparse_tensor_invariants:
    """Whether constructors look at indices and check them; also a context manager and a decorator.

    >>> import flambeau as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.wanted = enable
        self.before: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether invariants are checked.

        >>> import flambeau as torch
        >>> torch.sparse.check_sparse_tensor_invariants.is_enabled()
        False
        """
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check invariants from now on.

        >>> import flambeau as torch
        >>> torch.sparse.check_sparse_tensor_invariants.enable()
        >>> torch.sparse_coo_tensor([[5]], [1.0], (2,))
        Traceback (most recent call last):
            ...
        RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
        >>> torch.sparse.check_sparse_tensor_invariants.disable()
        """
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check invariants from now on."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self.before = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.wanted

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self.before)

    def __call__(self, function: Any) -> Any:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.wanted):
                return function(*args, **kwargs)
        return checked


def _entries(values: Any, dtype: Any, device: Any, requires_grad: bool, name: str) -> Tensor:
    """The entries of a new tensor: with the history of ``values``, or as a leaf of its own."""
    if not isinstance(values, Tensor):
        values = ops.tensor(values, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        values = values.to(device=device or values.device, dtype=dtype or values.dtype)
    if state.enabled and values.requires_grad:
        return named(values, name)
    found = detached(values)
    return found.requires_grad_() if requires_grad else found


def _index(data: Any, device: Any, wanted: tuple[Any, ...] = (dtypes.int64,)) -> Tensor:
    found = data if isinstance(data, Tensor) else ops.tensor(data, device=device)
    if found.dtype not in wanted:
        found = found.to(dtypes.int64)
    return detached(found)


@api("torch", judge="first")
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None) -> CooTensor:
    """A tensor with the ``values`` (N, *) at coordinates ``indices`` (D, N); all else is 0.

    >>> import flambeau as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        found = indices if size is None else size
        if not isinstance(found, (tuple, list)):
            raise TypeError("sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, not "
                            f"{type(found).__name__}")
        shape = tuple(found)
        return empty_coo(shape, dtype, device, requires_grad)
    entries = _entries(values, dtype, device, requires_grad, "SparseCooTensorWithDimsAndTensors")
    if entries.ndim == 0:
        entries = entries.reshape(1)
    places = _index(indices, device or entries.device)
    shape = tuple(size) if size is not None else _inferred_shape(places, entries)
    _check_coo(places, entries, shape)
    checking = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
    if checking:
        check_bounds(places, shape)
        if is_coalesced and not is_sorted(places, shape):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO "
                               "tensor")
    return coo(places, entries, shape, bool(is_coalesced))


def empty_coo(shape: Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False,
              dense_dim: int = 0) -> CooTensor:
    """A tensor of zeros, with no entries."""
    sparse_dim = len(shape) - dense_dim
    indices = ops.zeros((sparse_dim, 0), dtype=dtypes.int64, device=device)
    entries = ops.zeros((0, *shape[sparse_dim:]), dtype=dtype, device=device, requires_grad=requires_grad)
    return coo(indices, entries, shape, True)


def _inferred_shape(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    found = look(indices, "sparse_coo_tensor")
    if found.shape[1] == 0:
        return (*[0] * found.shape[0], *values.shape[1:])
    for d, row in enumerate(found):
        if row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
    return (*[int(n) + 1 for n in found.max(1)], *values.shape[1:])


def _check_coo(indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> None:
    sparse_dim, dense_dim = indices.shape[0] if indices.ndim else 0, values.ndim - 1
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
                           f"{len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{indices.shape[1]}, nnz from values: {values.shape[0]}")
    if tuple(values.shape[1:]) != shape[sparse_dim:]:
        raise RuntimeError(f"values has incorrect size, expected {[values.shape[0], *shape[sparse_dim:]]}, "
                           f"got {list(values.shape)}")


def check_bounds(indices: Tensor, shape: Sequence[int]) -> None:
    """Raise where coordinates lie outside of a shape; this looks."""
    for d, row in enumerate(look(indices, "sparse_coo_tensor")):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
        if row.size and row.max() >= shape[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but "
                               f"found index {row.max()}")


def positions(indices: Tensor, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Coordinates (D, N) as row-major positions (N); this looks."""
    found = look(indices, "coalesce")
    linear = np.zeros(found.shape[1], np.int64)
    for d in range(found.shape[0]):
        linear = linear * shape[d] + found[d]
    return linear


def is_sorted(indices: Tensor, shape: Sequence[int]) -> bool:
    """Whether coordinates ascend, none twice."""
    return bool((np.diff(positions(indices, shape)) > 0).all())


# --- compressed rows or columns -----------------------------------------------------------------------------

_INDEX_TYPES = (dtypes.int64, dtypes.int32)


@api("torch")
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
                             dtype: Any = None, layout: Any = None, device: Any = None,
                             pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: bool | None = None) -> CompressedTensor:
    """A matrix with compressed rows (``layout=torch.sparse_csr``) or columns (``torch.sparse_csc``).

    ``torch.sparse_bsr`` and ``torch.sparse_bsc`` are the same of blocks: values (N, high, wide). Leading
    dimensions of indices and values are a batch of matrices with as many entries each.

    >>> import flambeau as torch
    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3., 4.], layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if not isinstance(layout, layouts.layout) or layout.name not in WORDS:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got "
                           f"{NAMES.get(getattr(layout, 'name', ''), layout)}")
    entries = _entries(values, dtype, device, requires_grad, "SparseCompressedTensor")
    starts = _index(compressed_indices, device, _INDEX_TYPES)
    plain = _index(plain_indices, device, _INDEX_TYPES)
    first, second = WORDS[layout.name]
    if starts.dtype is not plain.dtype:
        raise RuntimeError(f"{first}_indices and {second}_indices dtype must be the same, but got "
                           f"{starts.dtype!r} and {plain.dtype!r}, respectively")
    blocked = layout in BLOCKED
    if starts.ndim != plain.ndim or not starts.ndim:
        raise RuntimeError(f"{first}_indices and {second}_indices dimensionalities must be equal but got "
                           f"{starts.ndim} and {plain.ndim}, respectively")
    if entries.ndim < plain.ndim + 2 * blocked:
        raise RuntimeError(f"values must have dimensionality > sum of batch and block dimensionalities (="
                           f"{plain.ndim - 1} + {2 * blocked}), but got {entries.ndim}")
    shape = Size(_inferred_extents(starts, plain, entries, layout) if size is None else size)
    checking = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
    if checking:
        _check_compressed(starts, plain, entries, shape, layout)
    return compressed(starts, plain, entries, shape, layout)


def _inferred_extents(starts: Tensor, plain: Tensor, values: Tensor, layout: layouts.layout) -> list[int]:
    found, lead = look(plain, "sparse_compressed_tensor"), plain.ndim - 1
    block = tuple(values.shape[lead + 1:lead + 3]) if layout in BLOCKED else (1, 1)
    pair = [starts.shape[-1] - 1, int(found.max()) + 1 if found.size else 0]
    pair = pair if layout in BY_ROW else pair[::-1]
    dense = values.shape[lead + 1 + 2 * (layout in BLOCKED):]
    return [*plain.shape[:-1], pair[0] * block[0], pair[1] * block[1], *dense]


def _check_compressed(starts: Tensor, plain: Tensor, values: Tensor, shape: tuple[int, ...],
                      layout: layouts.layout) -> None:
    first, second = WORDS[layout.name]
    begins, others = look(starts, "check_invariants"), look(plain, "check_invariants")
    lead, by_row, blocked = plain.ndim - 1, layout in BY_ROW, layout in BLOCKED
    if len(shape) < lead + 2:
        raise RuntimeError(f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (="
                           f"{lead} + 2 + {values.ndim - lead - 1 - 2 * blocked}) but got {len(shape)}")
    block = values.shape[lead + 1:lead + 3] if blocked else (1, 1)
    rows, columns = shape[lead] // max(block[0], 1), shape[lead + 1] // max(block[1], 1)
    count, extent = (rows, columns) if by_row else (columns, rows)
    axis, other = ("nrows", "ncols") if by_row else ("ncols", "nrows")

    def require(holds: bool, what: str) -> None:
        if not holds:
            raise RuntimeError(f"`{what}` is not satisfied.")
    if blocked and (shape[lead] % block[0] or shape[lead + 1] % block[1]):
        raise RuntimeError(f"tensor shape[{lead}:{lead + 2}] must be divisible by blocksize")
    if begins.shape[-1] != count + 1:
        raise RuntimeError(f"{first}_indices.shape[-1] must be equal to {axis} + 1 as {count + 1}, but got "
                           f"{begins.shape[-1]}")
    if tuple(others.shape) != tuple(values.shape[:lead + 1]):
        raise RuntimeError(f"{second}_indices and values must have the same number of elements, but got "
                           f"{others.shape[-1]} and {values.shape[lead]}")
    require(bool((begins[..., 0] == 0).all()), f"{first}_indices[..., 0] == 0")
    require(bool((begins[..., -1] == others.shape[-1]).all()), f"{first}_indices[..., -1] == nnz")
    steps = np.diff(begins)
    require(bool(((steps >= 0) & (steps <= extent)).all()),
            f"0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1] <= {other}")
    require(bool(((others >= 0) & (others < extent)).all()), f"0 <= {second}_indices < {other}")
    batches = steps.reshape(-1, count)
    lines = np.concatenate([np.arange(0), *(np.repeat(np.arange(count), each) for each in batches)])
    keys = lines.reshape(others.shape) * max(extent, 1) + others
    require(bool((np.diff(keys) > 0).all()),
            f"{second}_indices[..., {first}_indices[..., i - 1]:{first}_indices[..., i]] for all i = 1, ..., "
            f"{axis} are sorted and distinct along the last dimension values")


@api("torch")
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *,
                      dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None) -> CompressedTensor:
    """A matrix row by row: where rows begin (rows + 1), columns (N) and values (N).

    >>> import flambeau as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=layouts.sparse_csr, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants)


@api("torch")
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *,
                      dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None) -> CompressedTensor:
    """A matrix column by column: where columns begin (columns + 1), rows (N) and values (N).

    >>> import flambeau as torch
    >>> torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0], size=(2, 2)).to_dense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=layouts.sparse_csc, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants)


@api("torch")
def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *,
                      dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None) -> CompressedTensor:
    """A matrix of blocks, row by row: where rows of blocks begin, their columns (N), and blocks (N, H, W).

    >>> import flambeau as torch
    >>> torch.sparse_bsr_tensor([0, 1, 2], [1, 0], torch.ones(2, 1, 2)).to_dense()
    tensor([[0., 0., 1., 1.],
            [1., 1., 0., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=layouts.sparse_bsr, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants)


@api("torch")
def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *,
                      dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None) -> CompressedTensor:
    """A matrix of blocks, column by column: where columns of blocks begin, their rows, and the blocks.

    >>> import flambeau as torch
    >>> torch.sparse_bsc_tensor([0, 1], [0], [[[1.0, 2.0]]], size=(1, 2)).to_dense()
    tensor([[1., 2.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=layouts.sparse_bsc, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants)


def _zeros(*sizes: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """``torch.zeros`` and ``torch.empty`` of a sparse layout."""
    found = sizes if size is None else size
    shape = tuple(found[0]) if len(found) == 1 and not isinstance(found[0], int) else tuple(found)
    if layout is layouts.sparse_coo:
        return empty_coo(shape, dtype, device, requires_grad)
    if layout in BLOCKED:
        raise RuntimeError("zeros_sparse_compressed expected sparse compressed (non-block) tensor layout "
                           "but got "
                           + NAMES[layout.name])
    if len(shape) < 2:
        raise RuntimeError("torch.empty: Only batched sparse compressed (non-block) tensors are supported, "
                           f"but got size {list(shape)}")
    count = shape[-2] if layout is layouts.sparse_csr else shape[-1]
    starts = ops.zeros((*shape[:-2], count + 1), dtype=dtypes.int64, device=device)
    entries = ops.zeros((*shape[:-2], 0), dtype=dtype, device=device, requires_grad=requires_grad)
    return compressed(starts, starts[..., :0], entries, shape, layout)


def _zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
                requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Any:
    return _zeros(*input.shape, dtype=dtype or input.dtype, layout=layout, device=device or input.device,
                  requires_grad=requires_grad)


layouts.SPARSE_FACTORIES.update(zeros=_zeros, empty=_zeros, zeros_like=_zeros_like, empty_like=_zeros_like,
                                sparse_compressed_tensor=sparse_compressed_tensor)


def rebuilt(layout: Any, data: Any) -> Any:
    """A sparse tensor from a checkpoint, whose contents are not trusted: everything is checked."""
    if layout is layouts.sparse_coo and len(data) in (3, 4):
        indices, values, size = data[:3]
        _require_tensors(indices, values)
        flag = bool(data[3]) if len(data) == 4 and data[3] is not None else None
        return sparse_coo_tensor(indices, values, Size(size), check_invariants=True, is_coalesced=flag,
                                 requires_grad=values.requires_grad)
    if isinstance(layout, layouts.layout) and layout.name in WORDS and len(data) == 4:
        starts, plain, values, size = data
        _require_tensors(starts, plain, values)
        return sparse_compressed_tensor(starts, plain, values, Size(size), layout=layout,
                                        check_invariants=True)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")


def _require_tensors(*parts: Any) -> None:
    if not all(type(x) is Tensor for x in parts):
        raise RuntimeError("a sparse tensor in the file is made of something that is not a tensor")
