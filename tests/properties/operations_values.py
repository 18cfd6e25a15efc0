"""Steps that compute: operators, reductions, indexing, creation; that differentiate; that look."""

from __future__ import annotations

from typing import Any

from tests.properties.operations_views import N, dim, extent, fit
from tests.properties.program import OPERATIONS, operation

UNARY = (
    "neg",
    "abs",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "square",
    "sign",
    "exp",
    "atan",
    "erf",
    "expm1",
)
COMPARISONS = ("gt", "le", "eq", "ne")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "atan2", "hypot")


def _unary(name: str) -> Any:
    def apply(m: Any, x: Any, y: Any, n: N) -> Any:
        return getattr(m, name)(x)

    return apply


def _binary(name: str) -> Any:
    def apply(m: Any, x: Any, y: Any, n: N) -> Any:
        return getattr(x, name)(fit(x, y, n[0]))

    return apply


OPERATIONS.update({name: _unary(name) for name in UNARY})
OPERATIONS.update({name: _binary(name) for name in BINARY + COMPARISONS})


@operation
def div(m: Any, x: Any, y: Any, n: N) -> Any:
    return x / (fit(x, y, n[0]) ** 2 + 1)


@operation
def floor_divide(m: Any, x: Any, y: Any, n: N) -> Any:
    return x // (1 + n[0] % 3)


@operation
def remainder(m: Any, x: Any, y: Any, n: N) -> Any:
    return x % (2 + n[0] % 3)


@operation
def affine(m: Any, x: Any, y: Any, n: N) -> Any:
    return (n[0] - 3) / 2 - x * (n[1] / 4)


@operation
def add_integer(m: Any, x: Any, y: Any, n: N) -> Any:
    return n[0] + x


@operation
def power(m: Any, x: Any, y: Any, n: N) -> Any:
    return x ** (n[0] % 4)


@operation
def sqrt_shifted(m: Any, x: Any, y: Any, n: N) -> Any:
    return (x * x + 1).sqrt()


@operation
def log_shifted(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.log1p(x.abs())


@operation
def clamp(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.clamp(min=-1.1) if n[0] % 2 else x.clamp(-0.7, 0.9)


@operation
def where(m: Any, x: Any, y: Any, n: N) -> Any:
    other = fit(x, y, n[0])
    return m.where(x > 0.1, x, other)


@operation
def masked_fill(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.masked_fill(x < 0.1, n[0] / 2)


@operation
def lerp(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.lerp(x, fit(x, y, n[0]), 0.25)


@operation
def addcmul(m: Any, x: Any, y: Any, n: N) -> Any:
    other = fit(x, y, n[0])
    return m.addcmul(x, other, other, value=0.5)


@operation
def matmul(m: Any, x: Any, y: Any, n: N) -> Any:
    if x.dim() == 1:  # KNOWN_DIFFERENCES["matmul"]
        x = x[None]
    if x.dim() == 2 and y.dim() > 2:
        x = x[None]
    return x @ (x.transpose(-1, -2) if n[0] % 2 and x.dim() > 1 else y)


@operation
def softmax(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.softmax(dim(x, n[0])) if n[1] % 2 else x.log_softmax(dim(x, n[0]))


@operation
def activation(m: Any, x: Any, y: Any, n: N) -> Any:
    return getattr(m.nn.functional, ("gelu", "silu", "softplus", "elu", "leaky_relu", "hardtanh")[n[0] % 6])(
        x
    )


@operation
def layer_norm(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.nn.functional.layer_norm(x, x.shape[-1:])


@operation
def cumsum(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.cumsum(dim(x, n[0]))


@operation
def total(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.sum()


@operation
def sum_dim(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.sum(dim(x, n[0]), keepdim=bool(n[1] % 2))


@operation
def mean_dim(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.mean(dim(x, n[0]), keepdim=bool(n[1] % 2))


@operation
def amax(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.amax(dim(x, n[0])) if n[1] % 2 else x.amin(dim(x, n[0]))


@operation
def max_dim(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.max(dim(x, n[0])).values


@operation
def spread(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.var(dim(x, n[0]), correction=n[1] % 2)


@operation
def norm(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.norm() if n[0] % 2 else x.norm(dim=dim(x, n[1]))


@operation
def logsumexp(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.logsumexp(dim(x, n[0]))


@operation
def prod(m: Any, x: Any, y: Any, n: N) -> Any:
    along = dim(x, n[0])
    return x.prod(along) if x.dim() and x.shape[along] != 1 else x.clone()  # KNOWN_DIFFERENCES["prod"]


@operation
def any_all(m: Any, x: Any, y: Any, n: N) -> Any:
    return (x > 0).any(dim(x, n[0])) if n[1] % 2 else (x > 0).all()


@operation
def index_tensor(m: Any, x: Any, y: Any, n: N) -> Any:
    size = extent(x, 0)
    return x[m.tensor([n[0] % size, n[1] % size, n[2] % size])]


@operation
def index_two(m: Any, x: Any, y: Any, n: N) -> Any:
    # Where there are no elements PyTorch looks at no index.
    return x[..., [n[0] % (2 if x.numel() else 1), 0], None]


@operation
def index_select(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.index_select(dim(x, n[0]), m.tensor([n[1] % extent(x, n[0]), 0]))


@operation
def gather(m: Any, x: Any, y: Any, n: N) -> Any:
    index = m.tensor([n[1] % extent(x, n[0])]).reshape([1] * x.dim())
    return x.gather(dim(x, n[0]), index)


@operation
def positive_elements(m: Any, x: Any, y: Any, n: N) -> Any:
    return x[x > 0.1]


@operation
def cat(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.cat([x, x if n[1] % 4 else y], dim(x, n[0]))


@operation
def stack(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.stack([x, fit(x, y, n[0]).expand(x.shape)], n[1] % (x.dim() + 1))


@operation
def flip_roll(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.flip(dim(x, n[0])) if n[1] % 2 else x.roll(1, dim(x, n[0]))


@operation
def triangle(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.tril(n[0] % 3 - 1) if n[1] % 2 else x.triu()


@operation
def repeat(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.repeat(1 + n[0] % 2, *[1] * x.dim())


@operation
def clone(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.clone()


@operation
def contiguous(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.contiguous()


@operation
def cast(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.to((m.float64, m.float32, m.int64, m.float64)[n[0] % 4])


@operation
def zeros_like(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.zeros_like(x) if n[0] % 2 else m.full_like(x, n[1])


@operation
def new_leaf(m: Any, x: Any, y: Any, n: N) -> Any:
    return m.arange(1.0, 1 + x.numel(), dtype=m.float64).reshape(x.shape).clone().requires_grad_()


@operation
def clone_of_detached_leaf(m: Any, x: Any, y: Any, n: N) -> Any:
    return x.detach().clone().requires_grad_()


@operation
def retain_grad(m: Any, x: Any, y: Any, n: N) -> None:
    x.retain_grad()


@operation
def hook(m: Any, x: Any, y: Any, n: N) -> None:
    x.grad_fn  # of a view that cannot be used any more: PyTorch crashes in register_hook, where this raises
    x.register_hook(lambda grad: grad * 2)


@operation
def backward(m: Any, x: Any, y: Any, n: N) -> None:
    (x if n[0] % 8 == 7 else (x * 0.5).sum()).backward(retain_graph=True)


@operation
def grad(m: Any, x: Any, y: Any, n: N) -> Any:
    found = m.autograd.grad(
        x.sum(), y, retain_graph=True, create_graph=bool(n[0] % 2), allow_unused=n[1] % 4 > 0
    )
    return _plain_copies(m, found)


@operation
def second_order(m: Any, x: Any, y: Any, n: N) -> Any:
    (first,) = m.autograd.grad((x * x).sum(), y, create_graph=True)
    return _plain_copies(m, m.autograd.grad(first.square().sum(), y, retain_graph=True, allow_unused=True))


def _plain_copies(m: Any, gradients: Any) -> Any:
    """Return copies in one layout: strides and versions of gradients are the engine's affair."""
    return [g if g is None else g.clone(memory_format=m.contiguous_format) for g in gradients]


@operation
def look(m: Any, x: Any, y: Any, n: N) -> Any:
    return (x.tolist(),) if n[0] % 2 else (x.sum().item(),)


@operation
def branch(m: Any, x: Any, y: Any, n: N) -> Any:
    return x + 1 if bool((x > 0).any()) else x * 2
