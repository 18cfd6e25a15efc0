"""``SobolEngine``: points of a Sobol sequence, as they are or scrambled."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .. import dtypes
from .. import operators as ops
from ..dtypes import dtype as _dtype
from ..dtypes import get_default_dtype
from ..tensor import Tensor
from ..tensor.generator import Generator
from .directions import BITS, DIMENSIONS, direction_numbers


class SobolEngine:
    """Points in the unit cube that leave no large gaps (I. M. Sobol, 1967), scrambled by A. B. Owen's method.

    The n-th point is the sum over GF(2) of the direction numbers where the Gray code of n has ones.
    Scrambling multiplies the numbers by random lower triangular matrices of bits and adds a random shift.

    >>> import flambeau as torch
    >>> torch.quasirandom.SobolEngine(dimension=3).draw(3)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        state = direction_numbers(dimension)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            state, shift = self._scrambled(state)
        self.sobolstate, self.shift = ops.from_numpy(state), ops.from_numpy(shift)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The next ``n`` points, (n, dimension).

        >>> import flambeau as torch
        >>> torch.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
        """
        if dtype is None:
            dtype = get_default_dtype()
        if self.num_generated == 0 and n == 1:
            result = self._first_point.to(dtype)
        elif self.num_generated == 0:
            result = ops.cat((self._first_point.to(dtype), self._draw(n - 1, dtype)), dim=-2)
        else:
            result = self._draw(n, dtype)
        self.num_generated += n
        if out is None:
            return result
        out.resize_as_(result).copy_(result)
        return out

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The next 2^m points, which are balanced if all points so far are a power of two.

        >>> import flambeau as torch
        >>> torch.quasirandom.SobolEngine(1).draw_base2(2)
        tensor([[0.0000],
                [0.5000],
                [0.7500],
                [0.2500]])
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} "
                f"points have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you "
                "still want to do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> Self:
        """Begin again with the first point.

        >>> import flambeau as torch
        >>> engine = torch.quasirandom.SobolEngine(1)
        >>> first = engine.draw(2)
        >>> torch.equal(engine.reset().draw(2), first)
        True
        """
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leave ``n`` points out.

        >>> import flambeau as torch
        >>> torch.quasirandom.SobolEngine(1).fast_forward(2).draw(1)
        tensor([[0.7500]])
        """
        count = n - 1 if self.num_generated == 0 else n
        if count > 0:
            self._move(self._steps(count)[-1])
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(text)})"

    # -- points as numbers of MAXBIT bits

    def _draw(self, n: int, dtype: _dtype) -> Tensor:
        if n < 0:
            size = f"[{n}, {self.dimension}]"
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {size}")
        if dtype not in (dtypes.float32, dtypes.float64):
            name = dtypes.SCALAR_NAMES[dtype]
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{name}'")
        steps = self._steps(n)
        if n:
            self._move(steps[-1])
        return ops.from_numpy(steps * 2.0**-self.MAXBIT).to(dtype)

    def _move(self, point: Any) -> None:
        self.quasi = ops.from_numpy(point.copy())

    def _steps(self, n: int) -> Any:
        """The next ``n`` points: each differs from the one before by one direction number."""
        last = max(self.num_generated - 1, 0)
        numbers = np.arange(last, last + n + 1)
        gray = numbers ^ (numbers >> 1)
        changed = gray[1:] ^ gray[0]
        directions = self.sobolstate.numpy()
        points = np.broadcast_to(self.quasi.numpy(), (n, self.dimension)).copy()
        for bit in range(min(int(changed.max(initial=0)).bit_length(), self.MAXBIT)):
            points[(changed >> bit & 1).astype(bool)] ^= directions[:, bit]
        return points

    def _scrambled(self, state: Any) -> tuple[Any, Any]:
        """Direction numbers multiplied by random matrices, and a shift."""
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        size = (self.dimension, self.MAXBIT)
        shift = ops.randint(2, size, generator=generator).numpy() @ (1 << np.arange(self.MAXBIT))
        matrices = np.tril(ops.randint(2, (*size, self.MAXBIT), generator=generator).numpy())
        diagonal = np.arange(self.MAXBIT)
        matrices[:, diagonal, diagonal] = 1
        weights = 1 << diagonal[::-1]
        bits = (state[:, None, :] >> diagonal[::-1, None]) & 1     # (dimension, bit from above, number)
        return ((matrices @ bits & 1) * weights[:, None]).sum(1), shift
