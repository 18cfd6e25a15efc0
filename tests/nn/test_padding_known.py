"""pad_sequence of tensors whose values are known, which is computed at once, against the recorded one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest


def described(x: Any) -> Any:
    return str(x.dtype).rpartition(".")[2], tuple(x.shape), x.stride(), x.tolist()


CASES = {
    "floats": lambda t: ([t.arange(3.0), t.ones(1), t.zeros(0)], {}),
    "left": lambda t: ([t.arange(3), t.arange(1)], {"padding_side": "left", "padding_value": -1}),
    "matrices": lambda t: ([t.ones(2, 3), t.zeros(4, 3)], {"padding_value": 1.5, "batch_first": True}),
    "turned": lambda t: ([t.ones(3, 2).t(), t.zeros(3, 1).t()], {}),
    "rows of one": lambda t: (list(t.arange(12.0).reshape(3, 4)[1:]), {"padding_value": float("inf")}),
    "fraction in integers": lambda t: ([t.arange(3), t.arange(2)], {"padding_value": 1.5}),
    "half": lambda t: ([t.ones(2, dtype=t.float16), t.ones(1, dtype=t.float16)], {"padding_value": 7}),
    "bool": lambda t: ([t.ones(2, dtype=t.bool), t.ones(1, dtype=t.bool)], {"padding_value": True}),
    "two dtypes": lambda t: ([t.ones(2), t.arange(3)], {}),
    "two shapes": lambda t: ([t.ones(2, 2), t.ones(3, 1)], {}),
    "scalars": lambda t: ([t.tensor(1.0)], {}),
    "not tensors": lambda t: ([1, 2], {}),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_as_in_pytorch(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        sequences, options = CASES[name](framework)
        try:
            return described(framework.nn.utils.rnn.pad_sequence(sequences, **options))
        except Exception as error:
            return type(error).__name__, str(error)

    assert run(torch) == run(oracle)


def test_gradients_flow(torch: ModuleType) -> None:
    leaf = torch.ones(3, requires_grad=True)
    torch.nn.utils.rnn.pad_sequence([leaf, torch.ones(1)]).sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1]


def test_the_result_is_a_copy(torch: ModuleType) -> None:
    x = torch.arange(3.0)
    padded = torch.nn.utils.rnn.pad_sequence([x, x], batch_first=True)
    x[0] = 9.0
    assert padded.tolist() == [[0, 1, 2], [0, 1, 2]]
