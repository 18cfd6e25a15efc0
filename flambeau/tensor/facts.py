"""What a tensor tells of itself without a look: shape, strides, element type, device."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..devices import CPU, device
from ..graph.geometry import Geometry
from ..size import Size
from .attributes import Handle
from .dims import check_dim, extent_of, no_dim

_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


class Facts(Handle):
    """The part of ``Tensor`` that is read from its geometry alone."""

    __slots__ = ()

    _geometry: Geometry

    @property
    def shape(self) -> Size:
        """Extents of the dimensions.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).shape
        torch.Size([2, 3])
        """
        return self._geometry.shape

    @property
    def dtype(self) -> dtypes.dtype:
        """Element type.

        >>> import flambeau as torch
        >>> torch.ones(2).dtype, torch.tensor([1, 2]).dtype
        (torch.float32, torch.int64)
        """
        return self._geometry.dtype

    @property
    def device(self) -> device:
        """Where the values live.

        >>> import flambeau as torch
        >>> torch.ones(2).device, torch.ones(2, device="meta").device.type
        (device(type='cpu'), 'meta')
        """
        return self._geometry.device

    @property
    def ndim(self) -> int:
        """Number of dimensions.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).ndim
        2
        """
        return self._geometry.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the extent of one dimension.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(-1)
        (torch.Size([2, 3]), 3)
        """
        shape = self._geometry.shape
        if dim is None:
            return shape
        if dim.__class__ is int and -len(shape) <= dim < len(shape):
            return _extent(shape, dim)
        try:
            return extent_of(shape, dim)
        except TypeError:
            raise no_dim("size", dim) from None

    def dim(self) -> int:
        """Number of dimensions.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).dim(), torch.tensor(1.).dim()
        (2, 0)
        """
        return self._geometry.ndim

    ndimension = dim

    def numel(self) -> int:
        """Number of elements.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).numel()
        6
        """
        return self._geometry.numel

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Steps between elements along the dimensions, in elements.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).stride(), torch.ones(2, 3).t().stride()
        ((3, 1), (1, 3))
        """
        strides = self._geometry.strides
        try:
            return strides if dim is None else strides[check_dim(dim, len(strides))]
        except TypeError:
            raise no_dim("stride", dim) from None

    def storage_offset(self) -> int:
        """Position of the first element in the storage, in elements.

        >>> import flambeau as torch
        >>> torch.arange(6)[2:].storage_offset()
        2
        """
        return self._geometry.offset

    def element_size(self) -> int:
        """Bytes of one element.

        >>> import flambeau as torch
        >>> torch.ones(2).element_size(), torch.ones(2, dtype=torch.bool).element_size()
        (4, 1)
        """
        return self._geometry.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._geometry.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> import flambeau as torch
        >>> torch.ones(2, 3).nbytes
        24
        """
        return self._geometry.nbytes

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers.

        >>> import flambeau as torch
        >>> torch.ones(2).is_floating_point(), torch.tensor([1, 2]).is_floating_point()
        (True, False)
        """
        return self._geometry.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers.

        >>> import flambeau as torch
        >>> torch.tensor([1j]).is_complex(), torch.ones(1).is_complex()
        (True, False)
        """
        return self._geometry.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the element type has negative numbers."""
        return self._geometry.dtype.is_signed

    def get_device(self) -> int:
        """Index of the device, -1 on the CPU."""
        return -1 if self._geometry.device.index is None else self._geometry.device.index

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in main memory."""
        return self._geometry.device is CPU

    @property
    def is_meta(self) -> bool:
        """Whether there are no elements, but a shape and a dtype (``device="meta"``)."""
        return self._geometry.device.type == "meta"

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_xla = is_mps = is_xpu = is_nested = is_vulkan = False
    is_ipu = is_maia = is_mtia = False
    is_sparse_csr = False
    _sparse = False             # whether this is a tensor without a storage (Note: sparse tensors)
