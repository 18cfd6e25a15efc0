"""Functions below the public ones, and under older names, that packages call."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau._higher_order_ops.associative_scan import associative_scan

SCANS: list[tuple[Any, Any, dict[str, Any], Any]] = [
    (lambda a, b: a + b, torch.arange(5.0), {"dim": 0}, [0.0, 1, 3, 6, 10]),
    (lambda a, b: a * b, torch.tensor([[1.0, 2], [3, 4]]), {"dim": 1, "reverse": True}, [[2.0, 2], [12, 4]]),
    (lambda a, b: a @ b, torch.ones(3, 2, 2), {"dim": 0},
     [[[1.0, 1], [1, 1]], [[2, 2], [2, 2]], [[4, 4], [4, 4]]]),
]


@pytest.mark.parametrize(("combine", "xs", "options", "expected"), SCANS)
def test_prefixes_are_combined(combine: Any, xs: Any, options: dict[str, Any], expected: Any) -> None:
    assert associative_scan(combine, xs, combine_mode="generic", **options).tolist() == expected


def test_a_recurrence_is_a_scan_with_gradients() -> None:
    decay, x = torch.full((2, 4), 0.5, requires_grad=True), torch.ones(2, 4)
    _, y = associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (decay, x), 1,
                            combine_mode="generic")
    assert y[0].tolist() == [1.0, 1.5, 1.75, 1.875]
    y.sum().backward()
    assert decay.grad[0].tolist() == [0.0, 1.75, 2.25, 1.75]
    with pytest.raises(ValueError, match="need to be on CUDA or XPU"):
        associative_scan(lambda a, b: a + b, x, 0)


def test_recurrent_layers_are_functions_of_vf() -> None:
    cell = torch.nn.LSTM(2, 3)
    x, start = torch.randn(4, 1, 2), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3))
    out = torch._VF.lstm(x, start, cell._flat_weights, True, 1, 0.0, False, False, False)
    torch.testing.assert_close(out[0], cell(x)[0])


def test_older_names_of_reductions() -> None:
    from flambeau.nn import _reduction

    assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert _reduction.legacy_get_enum(False, True) == 2
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        _reduction.get_enum("x")


GRADIENT, RESULT = [[1.0, 0.0, 2.0]], [[0.5, 0.25, 0.25]]

LOWER = {       # names of functions that gradients written by hand and older programs call
    "_softmax_backward_data(g, y, 1, torch.float32)": [[0.0, -0.25, 0.25]],
    "_softmax_backward_data(g, y, 0, torch.float32)": [[0.25, 0.0, 0.375]],
    "_log_softmax_backward_data(g, torch.zeros(1, 3), -1, torch.float32)": [[-2.0, -3.0, -1.0]],
    "_shape_as_tensor(g)": [1, 3], "_cast_Long(g + 0.7)": [[1, 0, 2]], "_cast_Double(y)": RESULT,
}


@pytest.mark.parametrize("call", LOWER)
def test_functions_below_the_public_ones(call: str) -> None:
    names = {"torch": torch, "g": torch.tensor(GRADIENT), "y": torch.tensor(RESULT)}
    assert eval(f"torch.{call}", names).tolist() == LOWER[call]


@pytest.mark.parametrize(("output", "dtype", "message"), [
    (torch.ones(1, 2), torch.float32, r"\[1, 3\] does not equal \[1, 2\]"),
    (torch.ones(1, 3), torch.float16, "expected scalar type Float but found Half"),
])
def test_gradients_of_softmax_ask_for_what_fits(output: Any, dtype: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch._softmax_backward_data(torch.tensor(GRADIENT), output, 1, dtype)


def test_normal_numbers_of_a_size_take_means_in_tensors() -> None:
    torch.manual_seed(0)
    wanted = torch.normal(1.0, 2.0, (5,))
    torch.manual_seed(0)
    assert torch.normal(torch.tensor(1.0), torch.tensor(2.0), (5,)).tolist() == wanted.tolist()
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.normal(torch.ones(1), torch.tensor(2.0), (5,))


def test_sizes_to_broadcast_to_may_be_numbers() -> None:
    x = torch.ones(3)
    assert x.broadcast_to(2, 3).shape == x.broadcast_to((2, 3)).shape == x.broadcast_to(size=(2, 3)).shape
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        torch.fft.rfft(torch.tensor(1.0))


def test_products_of_small_integers_have_32_bits() -> None:
    torch.manual_seed(0)
    a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((17, 40), (40, 5)))
    assert torch.equal(torch._int_mm(a, b), a.int() @ b.int())
    for wrong, words in (((a.float(), b), "self dtype to be int8 or uint8 but got float"),
                         ((a, b.int()), "mat2 dtype to be of type int8 but got int"),
                         ((a, b[:4]), r"self.size\(1\) needs to match mat2.size\(0\) but got 40 and 4"),
                         ((a[0], b), "self to be of dimension 2 but got 1")):
        with pytest.raises(RuntimeError, match=words):
            torch._int_mm(*wrong)


@pytest.mark.filterwarnings("ignore:.*assert_allclose:FutureWarning")
def test_the_older_comparison_bears_more() -> None:
    torch.testing.assert_allclose(torch.ones(2), [1.0, 1.00005])
    torch.testing.assert_allclose(torch.tensor([float("nan")]), torch.tensor([float("nan")]).double())
    with pytest.raises(AssertionError, match=r"up to 1e-05 allowed"):
        torch.testing.assert_allclose(torch.ones(2), torch.zeros(2))
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted"):
        torch.testing.assert_allclose(1, 1.0, rtol=0.1)


MASKS: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "boolean": ([True, False], {}, [-float("inf"), 0.0]),
    "numbers": ([1.0, 0.0], {}, [1.0, 0.0]),
    "unchecked": ([1.0, 0.0], {"other_type": torch.float64, "check_other": False}, [1.0, 0.0]),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_become_numbers_that_are_added(name: str) -> None:
    mask, options, expected = MASKS[name]
    given = {"other_type": None, "other_name": "other", "target_type": torch.float32, **options}
    found = torch.nn.functional._canonical_mask(torch.tensor(mask), "mask", **given)
    assert found is not None and (found.tolist(), found.dtype) == (expected, torch.float32)
    assert torch.nn.functional._canonical_mask(None, "mask", **given) is None
    with pytest.raises(AssertionError, match="only bool and floating types"):
        torch.nn.functional._canonical_mask(torch.tensor([1]), "mask", **given)
    with pytest.raises(RuntimeError, match="must be None or"):
        torch.nn.functional._none_or_dtype(3)   # type: ignore[arg-type]


def test_a_mask_of_another_dtype_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Support for mismatched mask and other is deprecated"):
        torch.nn.functional._canonical_mask(
            torch.tensor([True]), "mask", torch.float32, "other", torch.float64)


def test_vmap_under_its_old_name() -> None:
    from flambeau._vmap_internals import _vmap

    x = torch.arange(6.0).view(2, 3)
    assert _vmap(lambda row: row.sum())(x).tolist() == [3.0, 12.0]
    assert _vmap(lambda a, b: a * b, (None, 0), 1)(torch.ones(2), torch.ones(3)).shape == (2, 3)
    empty, kept = _vmap(lambda row: (None, row), allow_none_pass_through=True)(x)
    assert empty is None and kept.tolist() == x.tolist()


def test_the_norm_of_weights_is_found_beside_their_normalization() -> None:
    from flambeau.nn.utils.weight_norm import norm_except_dim

    assert norm_except_dim is torch.norm_except_dim
