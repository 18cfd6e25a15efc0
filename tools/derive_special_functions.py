"""Derive the coefficients in flambeau/executors/interpreter/coefficients.py (needs mpmath and numpy).

Each function is interpolated at Chebyshev points of a variable t in [-1, 1] with 50 digits, and written as a
polynomial in t, constant term last (for ``horner``). Comments in the output give the largest relative error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def interpolate(f: Callable[[Any], Any], terms: int) -> list[Any]:
    """Monomial coefficients (highest first) of the interpolant at Chebyshev points of [-1, 1]."""
    points = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / terms) for k in range(terms)]
    values = [f(t) for t in points]
    chebyshev = [
        2 * mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / terms) for k, v in enumerate(values)) / terms
        for j in range(terms)
    ]
    chebyshev[0] /= 2
    # Clenshaw's recurrence on polynomials.
    b1: list[Any] = [mp.mpf(0)] * terms
    b2 = [mp.mpf(0)] * terms
    for c in reversed(chebyshev[1:]):
        shifted = [mp.mpf(0), *[2 * x for x in b1[:-1]]]
        b1, b2 = [s - old for s, old in zip(shifted, b2)], b1
        b1[0] += c
    shifted = [mp.mpf(0), *b1[:-1]]
    result = [s - old for s, old in zip(shifted, b2)]
    result[0] += chebyshev[0]
    return result[::-1]


def error(coefficients: list[float], f: Callable[[Any], Any]) -> float:
    """Largest relative error in double precision."""
    worst = 0.0
    for t in np.linspace(-0.9999, 0.9999, 301):
        value = 0.0
        for c in coefficients:
            value = value * t + c
        exact = f(mp.mpf(float(t)))
        worst = max(worst, abs(float((value - exact) / exact)) if exact else 0.0)
    return worst


def between(low: Any, high: Any) -> Callable[[Any], Any]:
    """x for t when t is x scaled from [low, high]."""
    return lambda t: mp.mpf(low) + (t + 1) * (mp.mpf(high) - mp.mpf(low)) / 2


def over(start: Any) -> Callable[[Any], Any]:
    """x for t = 2 start / x - 1: from start to infinity."""
    return lambda t: 2 * mp.mpf(start) / (t + 1)


def modulus_phase(n: int, z: Any) -> tuple[Any, Any]:
    """P and Q with J_n = sqrt(2 / (pi z)) (P cos c - Q sin c), Y_n likewise with sin and cos.

    Here c = z - (2n + 1) pi / 4.
    """
    c = z - (2 * n + 1) * mp.pi / 4
    j, y = (f(n, z) * mp.sqrt(mp.pi * z / 2) for f in (mp.besselj, mp.bessely))
    return j * mp.cos(c) + y * mp.sin(c), y * mp.cos(c) - j * mp.sin(c)


def lgamma_core(x: Any) -> Any:
    """lgamma without its zeros at 1 and 2."""
    for root in (1, 2):
        if abs(x - root) < mp.mpf(10) ** -20:
            x += mp.mpf(10) ** -20
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def square_root_of(x: Any) -> Any:
    return mp.sqrt(x) if x > 0 else mp.mpf(10) ** -30


def erf_core(t: Any) -> Any:
    x = square_root_of(between(0, 1)(t))
    return mp.erf(x) / x


def erfcx_core(t: Any) -> Any:
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    value = mp.exp(x * x) * mp.erfc(x) if x < 60 else mp.nsum(
        lambda k: (-1) ** int(k) * mp.fac2(2 * k - 1) / (2 * x * x) ** k, [0, 12]) / (x * mp.sqrt(mp.pi))
    return value * (1 + 2 * x)


def erfinv_core(w: Any) -> Any:
    """erfinv(x) / x where w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w)) if w > mp.mpf(10) ** -20 else mp.mpf(10) ** -10
    return mp.erfinv(x) / x


def ndtri_core(s: Any) -> Any:
    """-ndtri(p) / r where s = 1 / (r + 1) and r = sqrt(-log(4 p (1 - p)))."""
    r = 1 / s - 1
    product = mp.exp(-r * r)
    p = product / (2 + 2 * mp.sqrt(1 - product))
    z = mp.findroot(lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / 2) - mp.log(p), mp.mpf("1.4") * r)
    return z / r


def root(t: Any) -> Any:
    """x for t when t is x^2 scaled from [0, 64]."""
    return square_root_of(between(0, 64)(t))


def y0_core(x: Any) -> Any:
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_core(x: Any) -> Any:
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def k0_core(x: Any) -> Any:
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def k1_core(x: Any) -> Any:
    return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))


def airy_decay(x: Any) -> Any:
    """Ai(x) exp(2/3 x^(3/2)) x^(1/4)."""
    return mp.airyai(x) * mp.exp(2 * x ** mp.mpf(1.5) / 3) * x ** mp.mpf(0.25)


def airy_waves(x: Any) -> tuple[Any, Any]:
    """P and Q with Ai(-x) = x^(-1/4) (P sin c + Q cos(c) x^(-3/2)), Bi likewise with cos and -sin.

    Here c = 2/3 x^(3/2) + pi/4.
    """
    c = 2 * x ** mp.mpf(1.5) / 3 + mp.pi / 4
    a, b = (f(-x) * x ** mp.mpf(0.25) for f in (mp.airyai, mp.airybi))
    return a * mp.sin(c) + b * mp.cos(c), (a * mp.cos(c) - b * mp.sin(c)) * x ** mp.mpf(1.5)


TABLES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "ERF_SMALL": (erf_core, 13),
    "ERFCX": (erfcx_core, 30),
    "ERF_SINGLE": (lambda t: erf_core((t + 1) / 4 - 1), 6),     # up to 1/2, as ERFCX_SINGLE for float32
    "ERFCX_SINGLE": (erfcx_core, 14),
    "ERFINV_NEAR": (lambda t: erfinv_core(between(0, "6.25")(t)), 14),
    "ERFINV_FAR": (lambda t: erfinv_core(between("2.5", "6.1")(t) ** 2), 16),
    "NDTRI_FAR": (lambda t: ndtri_core(between(1 / 28.3, 1 / 3.45)(t)), 15),    # NDTRI_ENDS
    "LGAMMA_LOW": (lambda t: lgamma_core(between("0.5", "1.5")(t)), 24),
    "LGAMMA_HIGH": (lambda t: lgamma_core(between("1.5", 3)(t)), 20),
    "I0E_SMALL": (lambda t: mp.exp(-between(0, 8)(t)) * mp.besseli(0, between(0, 8)(t)), 30),
    "I0E_LARGE": (lambda t: mp.exp(-over(8)(t)) * mp.besseli(0, over(8)(t)) * mp.sqrt(over(8)(t)), 26),
    "I1E_SMALL": (lambda t: mp.exp(-between(0, 8)(t)) * mp.besseli(1, between(0, 8)(t)) / between(0, 8)(t),
                  30),
    "I1E_LARGE": (lambda t: mp.exp(-over(8)(t)) * mp.besseli(1, over(8)(t)) * mp.sqrt(over(8)(t)), 26),
    "K0_SMALL": (lambda t: k0_core(square_root_of(between(0, 4)(t))), 12),
    "K0E_LARGE": (lambda t: mp.exp(over(2)(t)) * mp.besselk(0, over(2)(t)) * mp.sqrt(over(2)(t)), 28),
    "K1_SMALL": (lambda t: k1_core(square_root_of(between(0, 4)(t))), 12),
    "K1E_LARGE": (lambda t: mp.exp(over(2)(t)) * mp.besselk(1, over(2)(t)) * mp.sqrt(over(2)(t)), 28),
    "J0_SMALL": (lambda t: mp.besselj(0, root(t)), 24),
    "J1_SMALL": (lambda t: mp.besselj(1, root(t)) / root(t), 24),
    "Y0_SMALL": (lambda t: y0_core(root(t)), 24),
    "Y1_SMALL": (lambda t: y1_core(root(t)), 24),
    "AIRY_FAR_LEFT": (lambda t: mp.airyai(between(-10, -5)(t)), 40),
    "AIRY_LEFT": (lambda t: mp.airyai(between(-5, 0)(t)), 32),
    "AIRY_RIGHT": (lambda t: mp.airyai(between(0, 5)(t)), 32),
    "AIRY_DECAY": (lambda t: airy_decay(5 / ((t + 1) / 2) ** (mp.mpf(2) / 3)), 24),
    "AIRY_P": (lambda t: airy_waves(10 / ((t + 1) / 2) ** (mp.mpf(1) / 3))[0], 16),
    "AIRY_Q": (lambda t: airy_waves(10 / ((t + 1) / 2) ** (mp.mpf(1) / 3))[1], 16),
    "P0": (lambda t: modulus_phase(0, 8 / mp.sqrt((t + 1) / 2))[0], 16),
    "Q0": (lambda t: modulus_phase(0, 8 / mp.sqrt((t + 1) / 2))[1] * 8 / mp.sqrt((t + 1) / 2), 16),
    "P1": (lambda t: modulus_phase(1, 8 / mp.sqrt((t + 1) / 2))[0], 16),
    "Q1": (lambda t: modulus_phase(1, 8 / mp.sqrt((t + 1) / 2))[1] * 8 / mp.sqrt((t + 1) / 2), 16),
}


def rational_erf(top: int = 5, bottom: int = 5) -> tuple[list[float], list[float], float]:
    """erf(x) / x as a quotient of polynomials in x^2 for |x| < 3.93, by Lawson's reweighted least squares."""
    end = 3.93 ** 2
    s = (1 + np.cos(np.pi * (np.arange(600) + 0.5) / 600)) / 2
    y = np.array([float(mp.erf(mp.sqrt(mp.mpf(v) * end)) / mp.sqrt(mp.mpf(v) * end)) for v in s])
    weight, q = np.ones_like(s), np.ones_like(s)
    best: Any = (np.inf,)
    for _ in range(40):
        scale = np.sqrt(weight) / (q * y)
        columns = [s ** i for i in range(top + 1)] + [-y * s ** i for i in range(1, bottom + 1)]
        found = np.linalg.lstsq(np.stack(columns, 1) * scale[:, None], y * scale, rcond=None)[0]
        p_of, q_of = found[:top + 1], np.concatenate([[1.0], found[top + 1:]])
        q = np.polyval(q_of[::-1], s)
        wrong = np.abs(np.polyval(p_of[::-1], s) / q / y - 1)
        if wrong.max() < best[0]:
            best = (wrong.max(), p_of / end ** np.arange(top + 1), q_of / end ** np.arange(bottom + 1))
        weight = weight * (wrong / wrong.mean() + 1e-3)
        weight /= weight.mean()
    return list(best[1][::-1]), list(best[2][::-1]), float(best[0])


def show(name: str, coefficients: list[float], note: str) -> None:
    """Print one table as Python source."""
    print(f"\n# {note}\n{name} = (")
    for i in range(0, len(coefficients), 4):
        print("    " + " ".join(f"{float(c)!r}," for c in coefficients[i:i + 4]))
    print(")")


def main() -> None:
    print('"""Coefficients derived by tools/derive_special_functions.py, highest power first."""')
    print("\nfrom __future__ import annotations")
    p, q, wrong = rational_erf()
    show("ERF32_TOP", p, f"erf(x) / x in x^2, |x| < 3.93: relative error {wrong:.1e}")
    show("ERF32_BOTTOM", q, "its denominator")
    for name, (f, terms) in TABLES.items():
        found = [float(c) for c in interpolate(f, terms)]
        show(name, found, f"relative error in double precision {error(found, f):.1e}")


if __name__ == "__main__":
    main()
