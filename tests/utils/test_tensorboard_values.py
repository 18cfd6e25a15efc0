"""What TensorBoard's writer takes for a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch


@pytest.mark.parametrize(("value", "error", "message"), [
    ("bar", ValueError, "could not convert string to float"),
    (None, NotImplementedError, "Got <class 'NoneType'>, but numpy array or torch tensor are expected."),
    ([3.0], NotImplementedError, "Got <class 'list'>, but numpy array or torch tensor are expected."),
    (torch.ones(2), AssertionError, "Was given size: 2 and 1 dimensions."),
])
def test_what_is_no_number(value: Any, error: type[Exception], message: str) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import summary
    with pytest.raises(error, match=message):
        summary.scalar("loss", value)


def test_numbers() -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import summary
    for value in (1, 1.0, True, np.float32(1), np.ones((1, 1)), torch.ones(1)):
        assert summary.scalar("loss", value).value[0].simple_value == 1
