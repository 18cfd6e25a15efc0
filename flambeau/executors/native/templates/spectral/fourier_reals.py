"""Real signals in Fourier transforms: read before them and written after them, a signal in each lane.

A signal x of even length n is transformed as that of half the length whose elements are the pairs
z[j] = x[2 j] + i x[2 j + 1], from which its own transform follows:

    X[k] = E[k] + w^k O[k],  E[k] = (Z[k] + Z*[-k]) / 2,  O[k] = (Z[k] - Z*[-k]) / 2 i,  w = exp(-2 pi i / n)

(Press et al., Numerical Recipes, section 12.3). One of odd length has imaginary parts that are zero. Two
signals as the parts of one would cost the same, but both would be rounded as the greater one is, and a NaN
would reach both.
"""

from __future__ import annotations

from ...llvm.floats import Floats
from .fourier_signals import LENGTH, SWAPPED, TURNS, Signals, blocks, scaled
from .fourier_stages import Complex, add, multiplied, read, subtract, write


def read_pairs(v: Floats, rows: Signals, x: str, y: str) -> None:
    """Of real signals, neighbours as the parts of one number."""
    with blocks(v, rows.lie_along[0], 2, v.f.word(LENGTH)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows.read(i, count, 2, left)):
            write(v, (z[0], z[1]), x, k)


def write_pairs(v: Floats, rows: Signals, x: str) -> None:
    """The same of an inverse transform, of which the parts are exchanged."""
    make = scaled(v)
    with blocks(v, rows.lie_along[1], 2, v.f.word(LENGTH)) as (i, _, left, numbers):
        rows.write([[make(part) for part in read(v, x, k)[::-1]] for k in numbers], i, left)


def read_single(v: Floats, rows: Signals, x: str, y: str) -> None:
    """Of real signals of odd length."""
    with blocks(v, rows.lie_along[0], 1, v.f.word(LENGTH)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows.read(i, count, 1, left)):
            write(v, (z[0], v.number(0)), x, k)


def write_single(v: Floats, rows: Signals, x: str) -> None:
    """The same of an inverse transform, of which the parts are exchanged."""
    make = scaled(v)
    with blocks(v, rows.lie_along[1], 1, v.f.word(LENGTH)) as (i, _, left, numbers):
        rows.write([[make(read(v, x, k)[1])] for k in numbers], i, left)


def write_half(v: Floats, rows: Signals, x: str, paired: bool) -> None:
    """Half of the spectrum of a real signal."""
    n = v.f.word(LENGTH)
    _write_spectra(v, rows, x, paired, v.f.add(n if paired else v.f.div(n, 2), 1))


def write_whole(v: Floats, rows: Signals, x: str, paired: bool) -> None:
    """The whole spectrum of a real signal."""
    n = v.f.word(LENGTH)
    _write_spectra(v, rows, x, paired, v.f.mul(n, 2) if paired else n)


def _write_spectra(v: Floats, rows: Signals, x: str, paired: bool, end: str) -> None:
    """The inverse transform is the conjugate."""
    f, make = v.f, scaled(v)
    sign = f.choose(f.compare("ne", f.word(SWAPPED), 0), v.kind, v.number(-1), v.number(1))
    with blocks(v, rows.lie_along[1], 2, end) as (i, _, left, numbers):
        found = [_of_pairs(v, x, k) if paired else read(v, x, k) for k in numbers]
        rows.write([[make(a), make(v.do("fmul", b, sign))] for a, b in found], i, left)


def _of_pairs(v: Floats, x: str, k: str) -> Complex:
    f, n, half = v.f, v.f.word(LENGTH), v.number(0.5)
    near = f.choose(f.compare("sge", k, n), "i64", f.sub(k, n), k)
    far = f.choose(f.compare("eq", near, 0), "i64", "0", f.most(f.sub(n, near), 0))
    z, other = read(v, x, near), read(v, x, far)
    both, apart = add(v, z, other), subtract(v, z, other)
    even, odd = (both[0], apart[1]), (both[1], v.do("fsub", v.number(0), apart[0]))
    total = add(v, even, multiplied(v, odd, _turn(v, k)))
    return v.do("fmul", total[0], half), v.do("fmul", total[1], half)


def _turn(v: Floats, k: str) -> Complex:
    """w^k, which is -1 for the frequency that has no imaginary part."""
    f = v.f
    places = [f.at(f.word(TURNS, "ptr"), f.add(f.mul(k, 2), part), v.element) for part in (0, 1)]
    middle = f.compare("eq", k, f.word(LENGTH))
    real, imaginary = [f.choose(middle, v.element, value, f.read(v.element, at))
                       for value, at in zip(("-1.0", "0.0"), places)]
    return f.splat(real, v.count, v.element), f.splat(imaginary, v.count, v.element)


def read_half_of_pairs(v: Floats, rows: Signals, x: str, y: str) -> None:
    """Z[k] = E[k] + i O[k] of half a spectrum, twice; parts exchanged. Its ends have no imaginary parts."""
    f, n, zero = v.f, v.f.word(LENGTH), v.number(0)
    with blocks(v, rows.lie_along[0], 2, f.add(n, 1)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows.read(i, count, 2, left)):
            alone = f.emit(f"or i1 {f.compare('eq', k, 0)}, {f.compare('eq', k, n)}")
            write(v, (z[0], f.choose(alone, v.kind, zero, z[1])), y, k)
    with f.loop(0, n) as k:
        own, other = read(v, y, k), read(v, y, f.sub(n, k))
        both, apart = add(v, own, other), subtract(v, own, other)
        w = _turn(v, k)
        odd = multiplied(v, (apart[0], both[1]), (w[0], v.do("fsub", zero, w[1])))
        write(v, (v.do("fadd", apart[1], odd[0]), v.do("fsub", both[0], odd[1])), x, k)


def read_half(v: Floats, rows: Signals, x: str, y: str) -> None:
    """The whole of half a spectrum of odd length, parts exchanged."""
    f, n, zero = v.f, v.f.word(LENGTH), v.number(0)
    with blocks(v, rows.lie_along[0], 2, f.add(f.div(n, 2), 1)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows.read(i, count, 2, left)):
            with f.when(f.compare("sle", f.mul(k, 2), n)):
                alone = f.compare("eq", k, 0)
                imaginary = f.choose(alone, v.kind, zero, z[1])
                write(v, (v.do("fsub", zero, imaginary), z[0]), x, f.choose(alone, "i64", k, f.sub(n, k)))
                write(v, (imaginary, z[0]), x, k)
