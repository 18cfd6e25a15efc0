"""Steps that make views, and steps that write in place (through views too)."""

from __future__ import annotations

from typing import Any

from tests.properties.program import operation

N = tuple[int, int, int]


def dim(x: Any, n: int) -> int:
    """Choose a dimension; one too far now and then, where there is none to choose."""
    return n % x.dim() - (x.dim() if n > 5 else 0) if x.dim() else n % 2


def extent(x: Any, n: int) -> int:
    """Return the size of the chosen dimension, at least 1."""
    return max(x.shape[dim(x, n)], 1) if x.dim() else 1


def fit(x: Any, y: Any, n: int) -> Any:
    """Return y if it broadcasts with x; else mostly its first element, now and then the misfit itself."""
    for a, b in zip(reversed(x.shape), reversed(y.shape)):
        if a != b and 1 not in (a, b):
            return y if n % 8 == 7 or not y.numel() else y.reshape(-1)[0]
    return y


def fit_into(x: Any, y: Any, n: int) -> Any:
    """Return y if x can be written with it, as in ``fit``."""
    y = fit(x, y, n)
    grows = len(y.shape) > len(x.shape) or any(
        a == 1 != b for a, b in zip(reversed(x.shape), reversed(y.shape))
    )
    return y.reshape(-1)[0] if grows and y.numel() and n % 8 != 7 else y


def apart(x: Any, y: Any) -> Any:
    """Return y, or a copy where it shares memory with x: KNOWN_DIFFERENCES["copy_, set_slice, set_rows"]."""
    bases = [t if t._base is None else t._base for t in (x, y)]
    return y.clone() if bases[0] is bases[1] and y.dim() else y


@operation
def transpose(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.transpose(dim(x, n[0]), dim(x, n[1]))


@operation
def permute(m: Any, x: Any, y: Any, n: N) -> Any:
    turn = n[0] % max(x.dim(), 1)
    order = list(range(x.dim()))
    return x.permute(order[turn:] + order[:turn])


@operation
def matrix_transpose(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.mT


@operation
def narrow(m: Any, x: Any, y: Any, n: N) -> Any:
    start = n[1] % extent(x, n[0])
    return x.narrow(dim(x, n[0]), start, n[2] % (extent(x, n[0]) - start + 1))


@operation
def slice_step(m: Any, x: Any, y: Any, n: N) -> Any:
    return x[..., n[0] % 3 :: 1 + n[1] % 3]


@operation
def slice_negative(m: Any, x: Any, y: Any, n: N) -> Any:
    return x[-1 - n[0] % 3 : 4 - n[1] % 3]


@operation
def select(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.select(dim(x, n[0]), n[1] % extent(x, n[0]) - (extent(x, n[0]) if n[2] % 2 else 0))


@operation
def index_integer(m: Any, x: Any, y: Any, n: N) -> Any:
    return x[n[0] % 4]


@operation
def reshape(m: Any, x: Any, y: Any, n: N) -> Any:
    divisors = [d for d in range(1, x.numel() + 1) if x.numel() % d == 0] or [1]
    return x.reshape(divisors[n[0] % len(divisors)], -1)


@operation
def view(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.view(-1) if n[0] % 2 else x.view(*x.shape, 1)


@operation
def flatten(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.flatten(n[0] % max(x.dim(), 1))


@operation
def expand(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.expand(1 + n[0] % 3, *x.shape)


@operation
def expand_dimension(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.expand(*[3 if size == 1 else -1 for size in x.shape])


@operation
def unsqueeze(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.unsqueeze(n[0] % (x.dim() + 1) - (1 if n[1] % 4 == 3 else 0))


@operation
def squeeze(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.squeeze(dim(x, n[0])) if n[1] % 2 else x.squeeze()


@operation
def diagonal(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.diagonal(n[0] % 4 - 1)


@operation
def unfold(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.unfold(dim(x, n[0]), 1 + n[1] % 3, 1 + n[2] % 2)


@operation
def as_strided(m: Any, x: Any, y: Any, n: N) -> Any:
    size = (1 + n[0] % 2, 1 + n[1] % 2)
    stride = (max(1 + n[2] % 2, size[1]), 1)  # KNOWN_DIFFERENCES["as_strided"]
    return x.as_strided(size, stride, x.storage_offset() if n[2] % 4 < 3 else None)


@operation
def swapped_to_front(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.movedim(dim(x, n[0]), 0)


@operation
def chunk(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.chunk(2, dim(x, n[0]))[:2]


@operation
def split(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.split(1 + n[1] % 2, dim(x, n[0]))[:2]


@operation
def unbind(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.unbind(dim(x, n[0]))[:2]


@operation
def detach(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.detach()


@operation
def data(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.data


@operation
def add_(m: Any, x: Any, y: Any, n: N) -> None:
    x.add_(fit_into(x, y, n[0]), alpha=1 + n[1] % 2)


@operation
def sub_(m: Any, x: Any, y: Any, n: N) -> None:
    x -= fit_into(x, y, n[0])


@operation
def mul_(m: Any, x: Any, y: Any, n: N) -> None:
    x.mul_(fit_into(x, y, n[0]))


@operation
def scale_(m: Any, x: Any, y: Any, n: N) -> None:
    x *= (n[0] - 3) / 2


@operation
def div_(m: Any, x: Any, y: Any, n: N) -> None:
    x.div_(2 + n[0])


@operation
def zero_(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride() and x.requires_grad:  # KNOWN_DIFFERENCES["fill_, zero_, masked_fill_, index_fill_"]
        return
    x.zero_()


@operation
def fill_(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride() and x.requires_grad:  # KNOWN_DIFFERENCES["fill_, zero_, masked_fill_, index_fill_"]
        return
    x.fill_(n[0] / 2)


@operation
def copy_(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride():  # KNOWN_DIFFERENCES["copy_"]
        return
    x.copy_(apart(x, fit_into(x, y, n[0])))


@operation
def relu_(m: Any, x: Any, y: Any, n: N) -> None:
    x.relu_()


@operation
def tanh_(m: Any, x: Any, y: Any, n: N) -> None:
    x.tanh_()


@operation
def sigmoid_(m: Any, x: Any, y: Any, n: N) -> None:
    x.sigmoid_()


@operation
def neg_(m: Any, x: Any, y: Any, n: N) -> None:
    x.neg_()


@operation
def clamp_(m: Any, x: Any, y: Any, n: N) -> None:
    x.clamp_(-1 - n[0] % 2, 1)


@operation
def set_slice(m: Any, x: Any, y: Any, n: N) -> None:
    target = x[n[0] % 2 : 2 + n[1] % 3]
    value = apart(x, fit_into(target, y, n[2]))
    if not value.dim() and not x.is_floating_point():  # KNOWN_DIFFERENCES["set_slice"]
        value = value.detach()
    x[n[0] % 2 : 2 + n[1] % 3] = value


@operation
def set_number(m: Any, x: Any, y: Any, n: N) -> None:
    x[n[0] % extent(x, 0)] = n[1] / 4


@operation
def set_where_positive(m: Any, x: Any, y: Any, n: N) -> None:
    x[x > 0.3] = n[0] / 4


@operation
def set_rows(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride():  # KNOWN_DIFFERENCES["set_rows"]
        return
    rows = m.tensor([0, extent(x, 0) - 1][: 1 + n[0] % 2])
    x[rows[:1]] = apart(x, fit_into(x[rows[:1]], y, n[1]))


@operation
def masked_fill_(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride() and x.requires_grad:  # KNOWN_DIFFERENCES["fill_, zero_, masked_fill_, index_fill_"]
        return
    x.masked_fill_(fit_into(x, y, n[0]) > 0, n[1] / 4)


@operation
def index_add_(m: Any, x: Any, y: Any, n: N) -> None:
    index = m.tensor([n[0] % extent(x, 0), n[1] % extent(x, 0)])
    x.index_add_(0, index, x.detach()[index])


@operation
def index_fill_(m: Any, x: Any, y: Any, n: N) -> None:
    if 0 in x.stride() and x.requires_grad:  # KNOWN_DIFFERENCES["fill_, zero_, masked_fill_, index_fill_"]
        return
    x.index_fill_(dim(x, n[0]), m.tensor([n[1] % extent(x, n[0])]), n[2] / 2)


@operation
def scatter_(m: Any, x: Any, y: Any, n: N) -> None:
    index = m.tensor([n[1] % extent(x, n[0])]).reshape([1] * x.dim())
    x.scatter_(dim(x, n[0]), index, n[2] / 2)


@operation
def transpose_(m: Any, x: Any, y: Any, n: N) -> None:
    if x.requires_grad and not m.is_grad_enabled():  # KNOWN_DIFFERENCES["transpose_, unsqueeze_"]
        return
    x.transpose_(dim(x, n[0]), dim(x, n[1]))


@operation
def unsqueeze_(m: Any, x: Any, y: Any, n: N) -> None:
    if x.requires_grad and not m.is_grad_enabled():  # KNOWN_DIFFERENCES["transpose_, unsqueeze_"]
        return
    x.unsqueeze_(n[0] % (x.dim() + 1)) if x.dim() < 4 else x.squeeze_()


@operation
def detach_(m: Any, x: Any, y: Any, n: N) -> None:
    x.detach_()


@operation
def write_through_data(m: Any, x: Any, y: Any, n: N) -> None:
    x.data.add_(1)


@operation
def write_through_detach(m: Any, x: Any, y: Any, n: N) -> None:
    x.detach().mul_(2)


@operation
def write_element_of_view(m: Any, x: Any, y: Any, n: N) -> None:
    x.transpose(0, -1)[n[0] % extent(x, 0)].add_(n[1] / 4)
