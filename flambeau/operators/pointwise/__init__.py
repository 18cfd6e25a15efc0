"""Functions of one element, or of the elements in one place of several tensors.

Arithmetic, comparisons, logic, rounding, powers, exponentials, trigonometry, complex numbers, special
functions.
"""

from . import (
    arithmetic,
    bessel,
    binary_exponent,
    comparison,
    complex_numbers,
    division,
    exponential,
    fake_quantization,
    logical,
    magnitude,
    pairs,
    power,
    rounding,
    special,
    ternary,
    trigonometric,
)
