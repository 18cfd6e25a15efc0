"""Winograd's minimal filtering: convolutions with kernels of 3 x 3 in fewer products.

Y = A^T [(G w G^T) . (B^T d B)] A gives m x m results from a tile d of n x n elements, n = m + 2, with n^2
products instead of 9 m^2: F(2 x 2, 3 x 3) needs 4 products for a result, F(4 x 4, 3 x 3) 2.25 (Lavin and
Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). The matrices come from the Cook-Toom
construction: polynomials are multiplied by their values at n - 1 points and infinity. The points 0, 1, -1,
1/2, -2 lose little to rounding: with 256 channels the greatest error is 4e-6 of the greatest result (of a
plain sum: 1.5e-6). F(2 x 2, 3 x 3) is even more exact than a plain sum. What is not finite spreads over a
tile.

With stride 2 a line is two: pixels that meet the middle tap, a product for each result, and those that meet
the outer taps, F(2, 2): 5 products for 2 results instead of 6, 6.25 for a result of the plane instead of 9.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..llvm.build import Function, Value
from ..llvm.emitter import FLOAT32, FLOAT64, literal
from ..vectors import arithmetic

Matrix = tuple[tuple[Fraction, ...], ...]

_POINTS = {2: (Fraction(0), Fraction(1), Fraction(-1)),
           4: (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-2))}


class Winograd(NamedTuple):
    """F(m x m, 3 x 3): its matrices, and those of the gradient by the weight, which are their transposes."""

    results: int            # m
    apart: int              # tiles in the source: m times the stride, or m by the stride
    output: Matrix          # A^T: m x n
    weight: Matrix          # G: n x 3, but of last elements that share a row only the first one's
    input: Matrix           # B^T: n x the extent of a tile

    @property
    def elements(self) -> int:
        """n."""
        return len(self.input)

    @property
    def extent(self) -> int:
        """How many pixels of a line a tile reads."""
        return len(self.input[0])

    @property
    def lacking(self) -> int:
        """How many results a last tile must lack so that some elements are spared."""
        return max(1, self.results // self.apart)

    @property
    def spared(self) -> tuple[int, ...]:
        """The elements that only the last ``lacking`` results have need of."""
        kept = self.output[:self.results - self.lacking]
        return tuple(i for i in range(self.elements) if not any(row[i] for row in kept))

    def products(self, results: int) -> int:
        """How many products a line of so many results takes."""
        m = self.results
        tiles = -(-results // m)
        lacks = (tiles * m - results + m - self.lacking) // m
        return self.elements * tiles - len(self.spared) * lacks

    @property
    def weights(self) -> int:
        """How many of a line's elements have weights of their own."""
        return len(self.weight)


@functools.cache
def winograd(results: int) -> Winograd:
    """F(m x m, 3 x 3) for m = 2 or 4."""
    points = _POINTS[results]
    output = tuple(tuple([p**i for p in points] + [Fraction(i == results - 1)]) for i in range(results))
    weight, rows = [], []
    for i, p in enumerate(points):
        others = [q for j, q in enumerate(points) if j != i]
        size = Fraction(1)
        for q in others:
            size *= p - q
        weight.append(tuple(p**k / size for k in range(3)))
        rows.append((*_polynomial(others), Fraction(0)))
    weight.append((Fraction(0), Fraction(0), Fraction(1)))
    rows.append(tuple(_polynomial(points)))
    return Winograd(results, results, output, tuple(weight), tuple(rows))


def _matrix(*rows: Sequence[int]) -> Matrix:
    return tuple(tuple(map(Fraction, row)) for row in rows)


# Of F(2, 2) with the outer taps, and the middle one.
_APART = _matrix((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0))


@functools.cache
def _halved() -> Winograd:
    """F(2 x 2, 3 x 3) of stride 2: the last two elements meet the middle tap."""
    return Winograd(2, 4, _matrix((1, 1, 0, 1, 0), (0, 1, 1, 0, 1)), _APART,
                    _matrix((1, 0, -1, 0, 0), (0, 0, 1, 0, 0), (0, 0, -1, 0, 1), (0, 1, 0, 0, 0),
                            (0, 0, 0, 1, 0)))


@functools.cache
def _doubled() -> Winograd:
    """The gradient by the input of the same: even results meet the middle tap (of the turned kernel)."""
    return Winograd(4, 2, _matrix((0, 0, 0, 1, 0), (1, 1, 0, 0, 0), (0, 0, 0, 0, 1), (0, 1, 1, 0, 0)), _APART,
                    _matrix((1, -1, 0), (0, 1, 0), (0, -1, 1), (1, 0, 0), (0, 1, 0)))


def winograd_of(mode: str) -> Winograd | None:
    """What modes that begin with ``winograd`` stand for; None for others."""
    if mode in ("winograd_halved", "winograd_doubled"):
        return _halved() if mode == "winograd_halved" else _doubled()
    return winograd(int(mode[8:])) if mode.startswith("winograd") else None


def weight_of(f: Function, w: Winograd, element: str) -> tuple[str, str]:
    """Which matrix of the weights an element of a tile meets, and whether one before it met the same."""
    if w.weights == w.elements:
        return element, "false"
    last = w.weights - 1
    row, column = f.div(element, w.elements), f.rem(element, w.elements)
    shared = f.emit(f"or i1 {f.compare('sgt', row, last)}, {f.compare('sgt', column, last)}")
    return f.add(f.mul(f.least(row, last), w.weights), f.least(column, last)), shared


class Tiles:
    """The tiles of a part of the grid, of which elements that are spared have fewer.

    Those of an element are numbered without gaps, image by image and line by line. So a tile's number for an
    element that it spares is that of a later one, or lies behind the last one.
    """

    def __init__(self, f: Function, w: Winograd, part: dict[str, str], extents: tuple[str, str]) -> None:
        """``extents``: how many lines and columns of results there are."""
        self.f, self.w, self.images = f, w, part["images"]
        found = [self._counts(extent) for extent in extents]
        self.rows, self.columns = found
        part["grid_a"], part["grid_w"] = found[0][0], found[1][0]

    def _counts(self, extent: str) -> tuple[str, str]:
        """How many tiles there are along a side, of most elements and of those that may be spared."""
        f, m = self.f, self.w.results
        tiles = f.div(f.add(extent, m - 1), m)
        lacks = f.compare("sge", f.sub(f.mul(tiles, m), extent), self.w.lacking)
        return tiles, f.choose(lacks, "i64", f.sub(tiles, 1), tiles)

    def count(self, element: str) -> str:
        """How many tiles an element (a register) has."""
        f, n = self.f, self.w.elements
        sides = []
        for place, (tiles, fewer) in ((f.div(element, n), self.rows), (f.rem(element, n), self.columns)):
            for spared in self.w.spared:
                tiles = f.choose(f.compare("eq", place, spared), "i64", fewer, tiles)
            sides.append(tiles)
        return f.mul(self.images, f.mul(*sides))

    def line(self, start: str, image: str, row: str, size: Value, element: str) -> list[str]:
        """For each element where its tiles of a line begin; ``size``: how many numbers a tile has."""
        f, n, spared = self.f, self.w.elements, self.w.spared
        starts = [[f.at(start, f.mul(f.mul(f.add(f.mul(image, rows), row), columns), size), element)
                   for columns in self.columns] for rows in self.rows]
        return [starts[r in spared][c in spared] for r in range(n) for c in range(n)]


def flipped(matrix: Matrix) -> Matrix:
    """The transpose."""
    return tuple(zip(*matrix))


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of all (x - root), from the lowest."""
    found = [Fraction(1)]
    for root in roots:
        found = [Fraction(0), *found]
        for i in range(len(found) - 1):
            found[i] -= root * found[i + 1]
    return found


def transform(f: Function, kind: str, matrix: Matrix, rows: Sequence[Sequence[str]]) -> list[str]:
    """matrix X matrix^T of a square X of vectors, row by row."""
    columns = [_side(f, kind, matrix, [row[j] for row in rows]) for j in range(len(rows[0]))]
    return [value for i in range(len(matrix)) for value in _side(f, kind, matrix, [c[i] for c in columns])]


def _side(f: Function, kind: str, matrix: Matrix, x: Sequence[str]) -> list[str]:
    """matrix x, with additions where a factor is 1 or -1."""
    return [_combination(f, kind, row, x) for row in matrix]


def _combination(f: Function, kind: str, factors: Sequence[Fraction], x: Sequence[str]) -> str:
    terms = [(c, v) for c, v in zip(factors, x) if c]
    terms.sort(key=lambda term: (abs(term[0]) != 1, term[0] < 0))
    first, total = terms[0]
    if first == -1:
        total = f.emit(f"fneg {kind} {total}")
    elif first != 1:
        total = arithmetic(f, "fmul", kind, _constant(kind, first), total)
    for factor, value in terms[1:]:
        if abs(factor) == 1:
            total = arithmetic(f, "fadd" if factor == 1 else "fsub", kind, total, value)
        else:
            total = f.fma(kind, _constant(kind, factor), value, total)
    return total


def _constant(kind: str, number: Fraction) -> str:
    lanes, element = kind[1:-1].split(" x ")
    one = literal(float(number), FLOAT64 if element == "double" else FLOAT32)
    return "<" + ", ".join([f"{element} {one}"] * int(lanes)) + ">"
