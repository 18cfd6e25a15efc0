"""``assert_close``: whether two tensors, numbers or containers of them are nearly equal."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, operators
from ..operators.creation.factories import from_numpy
from ..tensor import Tensor
from ..tensor.construct import tensor
from ..tensor.warned import warn

Message = str | Callable[[str], str] | None

# dtype -> (rtol, atol) where none are given; both zero for the others.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7), dtypes.complex64: (1.3e-6, 1e-5), dtypes.complex128: (1e-7, 1e-7),
}
_OLDER_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8),
}
_BY_TYPE = {float: dtypes.float64, complex: dtypes.complex128, int: dtypes.int64, bool: dtypes.bool_}


class _Rules(NamedTuple):
    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class _Mismatch(Exception):
    """Two values differ; where, if they lie in containers."""

    def __init__(self, message: str, place: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.place = place


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:
    """The older form of ``assert_close``: wider tolerances, and types may differ; it warns."""
    warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future "
         "release. Please use `torch.testing.assert_close()` instead.", FutureWarning)
    actual, expected = [x if isinstance(x, Tensor) else tensor(x) for x in (actual, expected)]
    if rtol is None and atol is None:
        found = [_OLDER_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(one[0] for one in found), max(one[1] for one in found)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
                 check_dtype=False, check_stride=False, msg=msg or None)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
    check_layout: bool = True, check_stride: bool = False, msg: Message = None,
) -> None:
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Tensors, numbers, None, and sequences and mappings of them. The tolerances default by dtype (the larger of
    both): 1e-3/1e-5 float16, 1.6e-2/1e-5 bfloat16, 1.3e-6/1e-5 float32, 1e-7/1e-7 float64, zero otherwise.

    >>> import flambeau as torch
    >>> torch.testing.assert_close(torch.tensor([1., 2.]), torch.tensor([1., 2.000001]))
    >>> torch.testing.assert_close([1, 2], [1, 3])
    Traceback (most recent call last):
        ...
    AssertionError: Scalars are not equal!
    <BLANKLINE>
    Expected 3 but got 2.
    Absolute difference: 1
    Relative difference: 0.3333333333333333
    <BLANKLINE>
    The failure occurred for item [1]
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    rules = _Rules(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout,
                   check_stride)
    try:
        _compare(actual, expected, rules, ())
    except _Mismatch as mismatch:
        text = str(mismatch)
        if mismatch.place:
            text += "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in mismatch.place)
        raise AssertionError(text if msg is None else msg if isinstance(msg, str) else msg(text)) from None


def _compare(actual: Any, expected: Any, rules: _Rules, place: tuple[Any, ...]) -> None:
    pair = (actual, expected)
    if _all_are(pair, Sequence) and not any(isinstance(x, str) for x in pair):
        _sequences(actual, expected, rules, place)
    elif _all_are(pair, Mapping):
        _mappings(actual, expected, rules, place)
    elif any(x is None for x in pair):
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}", place)
    elif _all_are(pair, (bool, np.bool_)):
        if bool(actual) is not bool(expected):
            raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}", place)
    elif _all_are(pair, Number) or _all_are(pair, np.number):
        _numbers(actual, expected, rules, place)
    elif _all_are(pair, Tensor) and (rules.allow_subclasses or type(actual) is type(expected)):
        _tensors(actual, expected, rules, place)
    elif _all_are(pair, np.ndarray):
        _tensors(from_numpy(actual), from_numpy(expected), rules, place)
    else:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and "
                        f"{type(expected)}.")


def _all_are(pair: tuple[Any, Any], kind: Any) -> bool:
    return isinstance(pair[0], kind) and isinstance(pair[1], kind)


def _sequences(actual: Any, expected: Any, rules: _Rules, place: tuple[Any, ...]) -> None:
    if len(actual) != len(expected):
        raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
    for i, (a, e) in enumerate(zip(actual, expected)):
        _compare(a, e, rules, (*place, i))


def _mappings(actual: Any, expected: Any, rules: _Rules, place: tuple[Any, ...]) -> None:
    missing, additional = set(expected) - set(actual), set(actual) - set(expected)
    if missing or additional:
        raise _Mismatch("The keys of the mappings do not match:\n"
                        f"Missing keys in the actual mapping: {sorted(missing)}\n"
                        f"Additional keys in the actual mapping: {sorted(additional)}", place)
    for key in actual:
        _compare(actual[key], expected[key], rules, (*place, key))


def _tolerances(rules: _Rules, *kinds: dtypes.dtype) -> tuple[float, float]:
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    pairs = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


# -- numbers ------------------------------------------------------------------------------------------------


def _numbers(actual: Any, expected: Any, rules: _Rules, place: tuple[Any, ...]) -> None:
    a, e = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
    if rules.check_dtype and type(a) is not type(e):
        raise _Mismatch(f"The (d)types do not match: {type(a)} != {type(e)}.", place)
    rtol, atol = _tolerances(rules, _BY_TYPE[type(a)], _BY_TYPE[type(e)])
    if not _near(a, e, rtol, atol, rules.equal_nan):
        raise _Mismatch(_scalar_message(a, e, rtol, atol), place)


def _near(a: Any, e: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if a == e or (equal_nan and cmath.isnan(a) and cmath.isnan(e)):
        return True
    difference = abs(a - e)
    return bool(cmath.isfinite(difference) and difference <= atol + rtol * abs(e))


def _scalar_message(a: Any, e: Any, rtol: float, atol: float) -> str:
    absolute = abs(a - e)
    relative = float("inf") if e == 0 else absolute / abs(e)
    exact = rtol == atol == 0
    up_to = ["", ""] if exact else [f" (up to {atol} allowed)", f" (up to {rtol} allowed)"]
    return (f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {e} but got {a}.\n"
            f"Absolute difference: {absolute}{up_to[0]}\nRelative difference: {relative}{up_to[1]}")


# -- tensors ------------------------------------------------------------------------------------------------


def _tensors(actual: Tensor, expected: Tensor, rules: _Rules, place: tuple[Any, ...]) -> None:
    def differ(attribute: str, a: Any, e: Any) -> None:
        if a != e:
            raise _Mismatch(f"The values for attribute '{attribute}' do not match: {a} != {e}.", place)

    differ("shape", actual.shape, expected.shape)
    if rules.check_layout:
        differ("layout", actual.layout, expected.layout)
    if rules.check_stride:
        differ("stride()", actual.stride(), expected.stride())
    if rules.check_device:
        differ("device", actual.device, expected.device)
    if rules.check_dtype:
        differ("dtype", actual.dtype, expected.dtype)
    if actual.device.type == "meta" or expected.device.type == "meta":
        return
    rtol, atol = _tolerances(rules, actual.dtype, expected.dtype)
    a, e = _same_dtype(actual.detach(), expected.detach())
    if actual._sparse or expected._sparse:
        if actual.layout == expected.layout:
            _sparse_tensors(a, e, rules, rtol, atol, place)
            return
        a, e = a.to_dense(), e.to_dense()
    _elements(a, e, "Tensor-likes", rules, rtol, atol, place)


def _sparse_tensors(a: Any, e: Any, rules: _Rules, rtol: float, atol: float, place: tuple[Any, ...]) -> None:
    """First where the entries are, then the entries."""
    kind = f"sparse {a.layout.name.removeprefix('sparse_').upper()}"
    if a.is_sparse and a.is_coalesced() != e.is_coalesced():
        a, e = a.coalesce(), e.coalesce()
    if a._nnz() != e._nnz():
        raise _Mismatch(f"The number of specified values in {kind} tensors does not match: {a._nnz()} != "
                        f"{e._nnz()}", place)
    if a.is_sparse:
        parts = [("indices", a._indices(), e._indices())]
    else:
        names = ("crow", "col") if a.layout.name.endswith("r") else ("ccol", "row")
        parts = [(f"{name}_indices", getattr(a, f"{name}_indices")(), getattr(e, f"{name}_indices")())
                 for name in names]
    title = kind[0].upper() + kind[1:]
    for name, ours, theirs in parts:
        _elements(ours, theirs, f"{title} {name}", rules, 0.0, 0.0, place)
    _elements(a._entries, e._entries, f"{title} values", rules, rtol, atol, place)


def _elements(a: Tensor, e: Tensor, title: str, rules: _Rules, rtol: float, atol: float,
              place: tuple[Any, ...]) -> None:
    near = operators.isclose(a, e, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if not bool(near.all()):
        raise _Mismatch(_tensor_message(a, e, near, rtol, atol, title), place)


def _same_dtype(a: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
    if a.dtype is e.dtype:
        return a, e
    both = dtypes.promote_types(a.dtype, e.dtype)
    return a.to(both), e.to(both)


def _tensor_message(a: Tensor, e: Tensor, near: Tensor, rtol: float, atol: float, title: str) -> str:
    if a.dim() == 0:
        return _scalar_message(a.item(), e.item(), rtol, atol)
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        a, e = a.to(dtypes.int64), e.to(dtypes.int64)
    matching = near.flatten()
    absolute = (a - e).abs().flatten()
    relative = (absolute / e.abs().flatten()).masked_fill(matching, 0)
    absolute = absolute.masked_fill(matching, 0)
    wrong, total = int((~matching).sum()), a.numel()
    exact = rtol == atol == 0
    lines = [f"{title} are not {'equal' if exact else 'close'}!", "",
             f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    for name, differences, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        at = int(differences.argmax())
        index = tuple(int(i) for i in np.unravel_index(at, tuple(a.shape)))
        up_to = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {name} difference: {differences[at].item()} at index {index}{up_to}")
    return "\n".join(lines)
