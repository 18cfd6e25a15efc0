"""Each case: a kernel's call, and PyTorch's call that gives the same numbers from the same state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from flambeau import random_streams as streams

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
# Around the group of 16, the block of 624 outputs and the kernels' own blocks.
SIZES = (0, 1, 5, 15, 16, 17, 40, 700, 40000)


@dataclass(frozen=True)
class Case:
    """``kernel(state) -> (values, state)`` and ``reference(torch) -> tensor`` on the default generator."""

    name: str
    kernel: Callable[[Array], tuple[Array, Array]]
    reference: Callable[[Any], Any]
    ulps: int = 0


def numpy_type(name: str) -> np.dtype[Any]:
    """NumPy's type of a PyTorch type's name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def weights(shape: tuple[int, ...], dtype: np.dtype[Any], scale: float = 1.0) -> Array:
    """Positive numbers that need no generator: the fractional parts of multiples of the golden ratio."""
    count = int(np.prod(shape))
    values = (np.arange(1, count + 1) * 0.6180339887498949 % 1.0 + 0.01) * scale
    return values.astype(np.float32).astype(dtype).reshape(shape)


def tensor(torch: Any, array: Array) -> Any:
    """A PyTorch tensor with an array's values."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def cases() -> Iterator[Case]:
    """Every case."""
    for size in SIZES:
        for name in FLOATS:
            yield from _floating(size, name)
        for name in COMPLEX:
            yield _in_place(size, name, "normal", (0.1, 0.3), streams.normal)
        for name in (*FLOATS, *INTEGERS):
            yield from _discrete(size, name)
        yield from _wide_integers(size)
    for name in FLOATS:
        yield from _bounds(name)
        yield from _multinomial(name)
        yield _poisson(name)
    for name in FLOATS[:2]:
        yield from _rejection(name)
        yield from _dropout(name)
    yield from _permutations()


def _in_place(size: int, name: str, method: str, arguments: tuple[Any, ...], kernel: Callable[..., Any],
              kernel_arguments: tuple[Any, ...] | None = None) -> Case:
    dtype = numpy_type(name)
    given = arguments if kernel_arguments is None else kernel_arguments
    def reference(torch: Any) -> Any:
        return getattr(torch.empty(size, dtype=getattr(torch, name)), method + "_")(*arguments)

    return Case(f"{method}{arguments}-{name}-{size}", lambda state: kernel(state, (size,), *given, dtype),
                reference)


def _floating(size: int, name: str) -> Iterator[Case]:
    for low, high in ((0.0, 1.0), (-3.0, 4.0), (0.1, 0.7), (2.0, 2.0078125)):
        yield _in_place(size, name, "uniform", (low, high), streams.uniform)
    for mean, std in ((0.0, 1.0), (0.1, 0.3), (-5.0, 0.0)):
        yield _in_place(size, name, "normal", (mean, std), streams.normal)
    yield _in_place(size, name, "exponential", (3.0,), streams.exponential)
    yield _in_place(size, name, "cauchy", (0.1, 0.3), streams.cauchy)
    yield _in_place(size, name, "log_normal", (0.1, 0.3), streams.log_normal)
    dtype = numpy_type(name)
    yield Case(f"normal-strided-{name}-{size}",
               lambda state: streams.normal(state, (size,), 0.1, 0.3, dtype, contiguous=False),
               lambda torch: torch.empty(size, 2, dtype=getattr(torch, name))[:, 0].normal_(0.1, 0.3))


def _discrete(size: int, name: str) -> Iterator[Case]:
    dtype = numpy_type(name)
    for p in (0.0, 0.3, 1.0):
        yield _in_place(size, name, "bernoulli", (p,), streams.bernoulli)
    for kind in FLOATS:
        p = np.minimum(weights((size,), np.dtype(np.float32)), 1).astype(numpy_type(kind))
        yield Case(f"bernoulli-{kind}-{name}-{size}",
                   lambda state, p=p: streams.bernoulli_each(state, p, dtype),
                   lambda torch, p=p: torch.empty(size, dtype=getattr(torch, name)).bernoulli_(
                       tensor(torch, p)))
    yield _in_place(size, name, "geometric", (0.3,), streams.geometric)
    yield _in_place(size, name, "random", (), streams.random_full)
    yield _in_place(size, name, "random", (100,), streams.randint, (0, 100))
    yield _in_place(size, name, "random", (3, 7), streams.randint)
    yield _in_place(size, name, "random", (3, None), streams.randint, (3, streams.limit_of(dtype)))


def _wide_integers(size: int) -> Iterator[Case]:
    for low, high in ((0, 2**28 - 1), (0, 2**28), (-5, 2**63 - 1), (-2**63, 2**63 - 1), (7, 2**40)):
        yield _in_place(size, "int64", "random", (low, high), streams.randint)
    yield _in_place(size, "int64", "random", (-2**63, None), streams.randint, (-2**63, 2**63))
    yield _in_place(size, "bool", "random", (), streams.random_full)
    yield _in_place(size, "bool", "bernoulli", (0.3,), streams.bernoulli)
    yield _in_place(size, "float64", "random", (0, 2**60), streams.randint)
    yield _in_place(size, "float32", "random", (2**24 + 1, 2**26 + 1), streams.randint)


def _bounds(name: str) -> Iterator[Case]:
    if name == "bfloat16":
        pairs = [(1027, 4000), (1031, 4001), (2055, 6000), (0, 2047), (0, 2044), (-1031, 2041), (-3001, 3)]
    elif name == "float16":
        pairs = [(0, 4999), (0, 4998), (0, 4996), (0, 2052), (4099, 9999), (0, 9997)]
    else:
        pairs = [(0, 2**24 + 3), (-2**27, 2**27 + 1)]
    for low, high in pairs:
        yield _in_place(300, name, "random", (low, high), streams.randint)


def _multinomial(name: str) -> Iterator[Case]:
    for shape in ((1,), (50,), (4, 7), (20, 300)):
        given = weights(shape, numpy_type(name))
        for count, replacement in ((1, False), (1, True), (3, True), (200, True), (7, False)):
            # Ties among 16-bit quotients fall as PyTorch's topk happens to leave them.
            if not replacement and count > 1 and (shape[-1] < count or name in FLOATS[2:]):
                continue
            yield Case(f"multinomial-{shape}-{count}-{replacement}-{name}",
                       lambda state, g=given, c=count, r=replacement: streams.multinomial(state, g, c, r),
                       lambda torch, g=given, c=count, r=replacement: torch.multinomial(
                           tensor(torch, g), c, r))


def _poisson(name: str) -> Case:
    rates = weights((1000,), numpy_type(name), 25.0)
    rates[:3] = 0
    return Case(f"poisson-{name}", lambda state: streams.poisson(state, rates),
                lambda torch: torch.poisson(tensor(torch, rates)))


def _rejection(name: str) -> Iterator[Case]:
    dtype = numpy_type(name)
    for scale in (1.0, 5.0, 1000.0):
        shapes = weights((600,), dtype, scale)
        shapes[:4] = (0.0, 1.0, -0.5, -1.0)
        yield Case(f"gamma-{scale}-{name}", lambda state, a=shapes: streams.standard_gamma(state, a),
                   lambda torch, a=shapes: torch._standard_gamma(tensor(torch, a)))
        parameters = weights((20, 3, 7), dtype, scale)
        yield Case(f"dirichlet-{scale}-{name}", lambda state, a=parameters: streams.dirichlet(state, a),
                   lambda torch, a=parameters: torch._sample_dirichlet(tensor(torch, a)), ulps=4)
        p = np.minimum(weights((600,), dtype)[::-1].copy(), 1)
        trials = np.floor(weights((600,), dtype, scale))
        trials[:2] = -1
        yield Case(f"binomial-{scale}-{name}", lambda state, n=trials, p=p: streams.binomial(state, n, p),
                   lambda torch, n=trials, p=p: torch.binomial(tensor(torch, n), tensor(torch, p)))


def _dropout(name: str) -> Iterator[Case]:
    dtype = numpy_type(name)
    for p in (0.1, 0.333, 0.5):
        yield Case(f"dropout-{p}-{name}",
                   lambda state, p=p: streams.bernoulli(state, (999,), 1 - p, np.dtype(bool)),
                   lambda torch, p=p: torch.dropout(
                       torch.ones(999, dtype=getattr(torch, name)), p, True) != 0)
        yield Case(f"feature_dropout-{p}-{name}",
                   lambda state, p=p: streams.bernoulli(state, (8, 30, 1), 1 - p, np.dtype(bool)),
                   lambda torch, p=p: torch.feature_dropout(
                       torch.ones(8, 30, 4, dtype=getattr(torch, name)), p, True)[:, :, :1] != 0)
    values = weights((999,), dtype) - 0.5

    def rrelu(state: Array) -> tuple[Array, Array]:
        slopes, state = streams.rrelu_slopes(state, values, 1 / 8, 1 / 3)
        return slopes * values, state

    yield Case(f"rrelu-{name}", rrelu, lambda torch: torch.rrelu(tensor(torch, values), 1 / 8, 1 / 3, True))


def _permutations() -> Iterator[Case]:
    for n in (0, 1, 2, 3, 17, 127, 128, 129, 1000, 60000):
        for name in (*FLOATS, *INTEGERS):
            dtype = numpy_type(name)
            if n <= streams.limit_of(dtype):
                yield Case(f"randperm-{n}-{name}", lambda state, n=n, d=dtype: streams.randperm(state, n, d),
                           lambda torch, n=n, name=name: torch.randperm(n, dtype=getattr(torch, name)))
