"""Products made of others: outer, inner, kron, tensordot, chain_matmul, bilinear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import c_name
from ...tensor import Tensor, check_dim
from ...tensor.recording import casting
from ...tensor.warned import warn
from ..calls.arguments import type_in_words
from ..calls.out import POINTWISE, Out, store
from ..declaration.registry import api
from .matmul import bmm, matmul, mm
from .vector_products import dot


@api("torch", "Tensor", out=POINTWISE, aliases=("ger",), judge="first")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors' elements: (N) and (M) give (N, M).

    >>> import flambeau as torch
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    for x, name in ((input, "self"), (vec2, "vec2")):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return input.reshape(-1, 1) * vec2


_CONTRACTED = Out("tensordot: Expected the output tensor to have dtype {Result}, but got an output tensor "
                  "with dtype {Out}")


@api("torch", "Tensor", out=_CONTRACTED)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimensions: (..., K) and (*, K) give (..., *).

    >>> import flambeau as torch
    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if input.ndim == other.ndim == 1:
        return dot(input, other)
    k = input.shape[-1]
    shape = (*input.shape[:-1], *other.shape[:-1])
    return mm(_rows(input, k), _rows(other, k).t()).reshape(shape)


def _rows(x: Tensor, k: int) -> Tensor:
    return x.reshape(x.numel() // k if k else _count(x.shape[:-1]), k)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


@api("torch", "Tensor", out=POINTWISE, judge="first")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of ``input`` times the whole of ``other``.

    >>> import flambeau as torch
    >>> torch.kron(torch.tensor([[1, 2]]), torch.tensor([[1, 1]]))
    tensor([[1, 1, 2, 2]])
    """
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    input, other = input.clone(), other.clone()     # which may be written before backward
    left = input.reshape([n for pair in zip(a, (1,) * ndim) for n in pair])
    right = other.reshape([n for pair in zip((1,) * ndim, b) for n in pair])
    return (left * right).reshape([n * m for n, m in zip(a, b)])


@api("torch", out=_CONTRACTED)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over several dimensions: the last ``dims`` of a and the first of b, or those
    listed.

    >>> import flambeau as torch
    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
    first, second = _tensordot_dims(a, b, dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    given = tuple(zip(first, second))
    first, second = [check_dim(d, a.ndim) for d in first], [check_dim(d, b.ndim) for d in second]
    for d, e, named in zip(first, second, given):
        if a._geometry.shape[d] == b._geometry.shape[e]:
            continue
        if a.shape[d] == 1:
            b = b.sum(e, keepdim=True, dtype=b.dtype)
        elif b.shape[e] == 1:
            a = a.sum(d, keepdim=True, dtype=a.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {named[0]} "
                f"and second has size {b.shape[e]} in dim {named[1]}"
            )
    of_a, of_b = a._geometry.shape, b._geometry.shape
    rest_a = [d for d in range(len(of_a)) if d not in first]
    rest_b = [d for d in range(len(of_b)) if d not in second]
    shape_a, shape_b = [of_a[d] for d in rest_a], [of_b[d] for d in rest_b]
    inner_size = _count([of_a[d] for d in first])
    left = _as_matrix(a, (*rest_a, *first), (_count(shape_a), inner_size))
    right = _as_matrix(b, (*second, *rest_b), (inner_size, _count(shape_b)))
    return mm(left, right).reshape(shape_a + shape_b)


def _as_matrix(x: Tensor, order: tuple[int, ...], shape: tuple[int, int]) -> Tensor:
    """x with its dimensions in another order, and joined into two."""
    if order != tuple(range(len(order))):
        x = x.permute(order)
    return x if x._geometry.shape == shape else x.reshape(shape)


def _tensordot_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        if dims.ndim and dims.numel() > 1 and dims.shape[0] != 2:
            raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.shape[0]}")
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        for name, each in (("self' (position 3)", first), ("other' (position 4)", second)):
            if not isinstance(each, (tuple, list)):
                raise TypeError(f"tensordot(): argument 'dims_{name} must be tuple of ints, not "
                                f"{type_in_words(each)}")
        return list(first), list(second)
    if not isinstance(dims, int):
        raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or "
                           f"list[list[int]] containing two lists, but got {dims=!s}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got {dims=!s}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got {dims=!s}")
    return list(range(-dims, 0)), list(range(dims))


@api("torch")
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of a chain of matrices, in the cheapest order.

    >>> import flambeau as torch
    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)).shape
    torch.Size([2, 1])
    """
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
        "parameters.")
    for x in matrices:
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead.")
    result = matrices[0] if len(matrices) == 1 else multiply_chain(matrices)
    if out is None:
        return result

    return store(result, out, "chain_matmul")


def multiply_chain(matrices: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices, parenthesised for the fewest multiplications (dynamic
    programming)."""
    n = len(matrices)
    sizes = [matrices[0].shape[0], *[x.shape[1] for x in matrices]]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def multiply(i: int, j: int) -> Tensor:
        return matrices[i] if i == j else mm(multiply(i, cut[i][j]), multiply(cut[i][j] + 1, j))

    return multiply(0, n - 1)


@api("nn.functional", "torch")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias`` for each output feature o.

    Shapes: (..., I) and (..., J), a weight (O, I, J) and a bias (O) give (..., O).

    >>> import flambeau as torch
    >>> torch.nn.functional.bilinear(torch.ones(5, 2), torch.ones(5, 3), torch.ones(4, 2, 3)).shape
    torch.Size([5, 4])
    """
    _check_bilinear(input1, input2, weight, bias)
    _check_types(input1, input2, weight, bias)
    o, i, j = weight.shape
    lead = input1.shape[:-1]
    rows = _count(lead)
    with casting.suspended():  # autocast leaves it as it is
        mixed = matmul(input1.reshape(rows, i), weight.permute(1, 0, 2).reshape(i, o * j))
        result = bmm(mixed.reshape(rows, o, j), input2.reshape(rows, j, 1)).reshape(*lead, o)
    return result if bias is None else result + bias


def _check_types(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    operands = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    given = {name: x.dtype for name, x in operands.items() if x is not None}
    if not casting.active and any(d is not weight.dtype for d in given.values()):
        raise RuntimeError("All tensors must have the same dtype, got "
                           + ", ".join(f"{name}: {c_name(d)}" for name, d in given.items()))


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d in range(input1.ndim - 1):
        if input1.shape[d] != input2.shape[d]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {input1.shape[d]} and "
                f"{input2.shape[d]}"
            )
    for number, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {x.shape[-1]} but expected "
                f"{weight.shape[number]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}"
        )
