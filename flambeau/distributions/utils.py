"""What the distributions share: broadcasting of parameters, probabilities and logits, lazy attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import enable_grad
from ..dtypes import get_default_dtype
from ..nn import functional as F
from ..tensor import Tensor
from ..type_info import finfo

euler_constant = 0.57721566490153286060

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or acts as one by ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers take the type of the first tensor, or the default type.

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import broadcast_all
    >>> broadcast_all(torch.zeros(2), 1.0)[1]
    tensor([1., 1.])
    """
    if not all(is_tensor_like(value) or isinstance(value, Number) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects "
                         "implementing __torch_function__.")
    first = next((value for value in values if is_tensor_like(value)), None)
    options = {"dtype": get_default_dtype()} if first is None else {"dtype": first.dtype,
                                                                   "device": first.device}
    tensors = [value if is_tensor_like(value) else ops.tensor(value, **options) for value in values]
    return tuple(ops.broadcast_tensors(*tensors))


def all_numbers(*values: Any) -> bool:
    """Whether the parameters are Python numbers, so that the batch shape is ()."""
    return all(isinstance(value, Number) for value in values)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Standard normal values, the same as ``torch.normal`` of zeros and ones, but no look at deviations."""
    return ops.randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds (binary), or of unnormalised log-probabilities (..., K).

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import logits_to_probs
    >>> logits_to_probs(torch.zeros(2)), logits_to_probs(torch.zeros(2), is_binary=True)
    (tensor([0.5000, 0.5000]), tensor([0.5000, 0.5000]))
    """
    return logits.sigmoid() if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept inside the open interval from 0 to 1, by the machine epsilon of their type.

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import clamp_probs
    >>> bool(clamp_probs(torch.tensor(0.0)) > 0)
    True
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (binary) or log-probabilities (..., K).

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import probs_to_logits
    >>> probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def one_of(**given: Any) -> None:
    """Exactly one of two ways to parametrize, ``probs`` and ``logits``, must be chosen."""
    if sum(value is not None for value in given.values()) != 1:
        first, second = given
        raise ValueError(f"Either `{first}` or `{second}` must be specified, but not both.")


class lazy_property:
    """An attribute that is computed when first asked for, and kept.

    Once computed it lies in the instance's ``__dict__``, where the attribute is found first.

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.14, 3.14)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _LazyOnClass(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyOnClass(lazy_property, property):
    """What the class itself shows, for tools that look for properties."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements (..., N) of matrices (..., D, D) on and below a diagonal, row by row.

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = ops.tril_indices(n, n, diag).unbind(0)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices (..., D, D) with the elements (..., N) on and below a diagonal, row by row.

    >>> import flambeau as torch
    >>> from flambeau.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1, 2, 3]))
    Traceback (most recent call last):
    TypeError: torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'
    """
    count = vec.shape[-1]
    # N elements on and below diagonal d fill D rows when D (D + 1 + 2 d) = 2 N + |d| (d + 1).
    offset = 1 + 2 * diag
    root = (offset**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = (root - offset) / 2
    eps = finfo(vec.dtype).eps
    if round(n) - n > eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as "
                         "the lower triangular part of a square D x D matrix.")
    n = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    rows, columns = ops.tril_indices(n, n, diag).unbind(0)
    mat[..., rows, columns] = vec
    return mat
