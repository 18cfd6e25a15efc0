"""One number that is drawn is kept as Python's, and is a tensor like any other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau.tensor.samples.drawn import Drawn

AT_ONCE = torch.config.settings.executor in ("auto", "interpreter")
DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: torch.rand(1),
    "randint": lambda: torch.randint(2, 9, (1,)),
    "no dimensions": lambda: torch.randint(9, ()),
    "compared": lambda: torch.rand(1) < 0.5,
    "compared twice": lambda: torch.randint(9, ()) >= 4,
}


def _written(x: Any) -> Any:
    x.fill_(1)
    return x, x.item(), x._version


def _shared(x: Any) -> Any:
    x.numpy()[...] = 1
    return x.item()


USES: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.item(),
    "bool": bool,
    "int": int,
    "index": lambda x: [5, 6, 7, 8, 9, 10, 11, 12, 13][int(x)],
    "tolist": lambda x: x.tolist(),
    "repr": repr,
    "facts": lambda x: (x.shape, x.dtype, x.stride(), x._version, x.untyped_storage().nbytes()),
    "arithmetic": lambda x: x * 2 + x,
    "less": lambda x: x < 3,
    "less, of another type": lambda x: (x < 0.3, x > 2, x >= True),
    "less than a tensor": lambda x: x < torch.tensor([0.25, 4]),
    "the other way": lambda x: 0.5 > x,
    "equal": lambda x: (x == 1, x != 0.5),
    "both": lambda x: (x > 0) & (x < 4),
    "expanded": lambda x: x.expand(3),
    "one element": lambda x: x.reshape(1)[0],
    "other bytes": lambda x: x.view(torch.uint8) if x.ndim else x,
    "cloned, then written": lambda x: (x.clone(), _written(x)),
    "written": _written,
    "shared": _shared,
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "copied": copy.deepcopy,
    "stacked": lambda x: torch.stack([x, x]),
    "inference": lambda x: x.is_inference(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("draw", DRAWS)
def test_is_a_tensor_like_any_other(draw: str, use: str) -> None:
    torch.manual_seed(3)
    DRAWS[draw]()       # from now on numbers come from what was drawn ahead
    for _ in range(3):
        number, plain = DRAWS[draw](), DRAWS[draw]()
        assert AT_ONCE == (number._storage.__class__ is Drawn)
        plain.fill_(number.item())
        plain = plain.clone().detach()
        assert repr(USES[use](number)) == repr(USES[use](plain))


def test_bounds_are_rounded_as_the_number_is() -> None:
    torch.manual_seed(0)
    torch.rand(1)
    x = torch.rand(1)
    bound = x.item() + 1e-12
    assert not x < bound
    assert x >= bound
    assert not x > 1e300


def test_gradients_flow_from_a_number_that_was_drawn() -> None:
    torch.rand(1)
    x = torch.rand(1).requires_grad_()
    (3 * x).sum().backward()
    assert x.grad.item() == 3


def test_numbers_drawn_in_inference_mode_say_so() -> None:
    torch.rand(1)
    with torch.inference_mode():
        x = torch.rand(1)
        assert x.is_inference()
        assert (x < 0.5).is_inference()
