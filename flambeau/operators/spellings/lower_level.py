"""Functions that PyTorch's own layers are built on, under the names and argument orders programs call."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ...tensor import Tensor
from ...tensor.dims import extent_of
from ..convolutions.grid_sampling import affine_grid
from ..declaration.registry import NAMESPACES, api
from ..normalization.normalization import instance_norm as _instance_norm
from ..random.filling import bernoulli_
from ..sequences.embedding import renormalize_rows
from ..shapes.metadata import resize_as_

api("torch")(resize_as_)


@api("torch", judge="first")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but ``dim``, kept as 1; over all of them if ``dim`` is -1.

    >>> import flambeau as torch
    >>> torch.norm_except_dim(torch.tensor([[3., 4.], [6., 8.]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    extent_of(v.shape, dim)
    if v.ndim == 1:
        return v.abs()  # an empty list of dimensions would mean all
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return NAMESPACES["linalg"]["vector_norm"](v, pow, others, keepdim=True)


@api("torch", judge="first")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout that returns which elements were kept as well.

    >>> import flambeau as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if input.numel() == 0:
        return input, input.new_empty(input.shape).bool()
    if train is False:
        return input.clone(), input.new_ones(input.shape).bool()
    kept = bernoulli_(input.new_empty(input.shape).bool(), 1.0 - p)
    return input * kept * (0.0 if p == 1 else 1.0 / (1.0 - p)), kept


@api("torch", judge="first")
def instance_norm(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                  use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    """``nn.functional.instance_norm`` with all arguments given: (N, C, *).

    >>> import flambeau as torch
    >>> x = torch.tensor([[[1., 3.]]])
    >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@api("torch")
def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid`` with all arguments given.

    >>> import flambeau as torch
    >>> torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    return affine_grid(theta, size, align_corners)


@api("torch", judge="first")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of a table that ``indices`` names down to ``max_norm``, in place.

    >>> import flambeau as torch
    >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [6., 8.]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
    renormalize_rows(input, indices, max_norm, norm_type)
    return input


@api("torch", judge="first")
def _shape_as_tensor(self: Tensor) -> Tensor:
    """The lengths of all dimensions as integers.

    >>> import flambeau as torch
    >>> torch._shape_as_tensor(torch.zeros(2, 3))
    tensor([2, 3])
    """
    return NAMESPACES["torch"]["tensor"](list(self.shape), dtype=int64)


@api("torch", "Tensor", judge="first")
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor lies on several processes: never.

    >>> import flambeau as torch
    >>> torch.ones(2).is_distributed()
    False
    """
    return False


@api("Tensor")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The tensor with a strided layout, which it has.

    >>> import flambeau as torch
    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


@api("Tensor")
def dense_dim(self: Tensor) -> int:
    """The number of dimensions that are stored densely: all."""
    return self.ndim


@api("Tensor")
def sparse_dim(self: Tensor) -> int:
    """The number of dimensions that are stored sparsely: none."""
    return 0


@api("Tensor")
def const_data_ptr(self: Tensor) -> int:
    """Address of the first element, for reading only.

    >>> import flambeau as torch
    >>> x = torch.ones(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True
    """
    return self.data_ptr()
