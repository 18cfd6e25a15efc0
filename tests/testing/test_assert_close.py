"""assert_close says what differs in PyTorch's words; make_tensor draws PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

CASES = [
    (
        lambda t: ([1.0, 2.0], [1.0, 3.0]),
        "Scalars are not close!\n\nExpected 3.0 but got 2.0.\nAbsolute difference: 1.0 "
        "(up to 1e-07 allowed)\nRelative difference: 0.3333333333333333 (up to 1e-07 allowed)\n\n"
        "The failure occurred for item [1]",
    ),
    (
        lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 4.0])),
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)",
    ),
    (
        lambda t: (t.tensor([True]), t.tensor([False])),
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 1 (100.0%)\n"
        "Greatest absolute difference: 1 at index (0,)\nGreatest relative difference: inf at index (0,)",
    ),
    (
        lambda t: (t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
        "The values for attribute 'dtype' do not match: torch.float32 != torch.float64.",
    ),
    (
        lambda t: (t.ones(1), t.ones(1, 1)),
        "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([1, 1]).",
    ),
    (
        lambda t: ({"a": t.tensor(1.0)}, {"a": t.tensor(2.0)}),
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)\n\nThe failure occurred for item ['a']",
    ),
    (
        lambda t: ({"a": 1}, {"b": 1}),
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
        "['b']\nAdditional keys in the actual mapping: ['a']",
    ),
    (lambda t: ([1], [1, 2]), "The length of the sequences mismatch: 1 != 2"),
    (lambda t: (None, 1), "None mismatch: None is not 1"),
    (lambda t: (True, False), "Booleans mismatch: True is not False"),
]


@pytest.mark.parametrize(("pair", "message"), CASES)
def test_message(torch: Any, pair: Any, message: str) -> None:
    with pytest.raises(AssertionError) as error:
        torch.testing.assert_close(*pair(torch))
    assert str(error.value) == message


def test_what_is_close(torch: Any) -> None:
    close = torch.testing.assert_close
    close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.000001]))
    close(torch.tensor([float("nan")]), torch.tensor([float("nan")]), equal_nan=True)
    close((1, [torch.tensor(1.0)]), (1, [torch.tensor(1.0)]))
    close(torch.tensor([1.5]).half(), torch.tensor([1.501]).half())
    close(1, 1.0, check_dtype=False)
    with pytest.raises(AssertionError, match="hey"):
        close(1, 2, msg="hey")
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol'"):
        close(1.0, 1.0, rtol=1)
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        close("a", "a")


def test_make_tensor(torch: Any) -> None:
    torch.manual_seed(0)
    made = torch.testing.make_tensor(
        (2, 3), dtype=torch.float32, device="cpu", low=-1, high=1, noncontiguous=True
    )
    assert made.stride() == (6, 2)
    assert made[0].tolist() == pytest.approx([0.5364435911, -0.7359390259, 0.2681573629])
    whole = torch.testing.make_tensor(100, dtype=torch.int64, device="cpu", low=-1, high=2, exclude_zero=True)
    assert set(whole.tolist()) == {-1, 1}
