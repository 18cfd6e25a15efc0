"""Classes that override are found among arguments, whatever was met before."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau.overrides import has_torch_function


class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "asked"


class Foreign:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "asked"


def test_arguments_that_override_are_found_after_others() -> None:
    x, loud = torch.ones(2), torch.ones(2).as_subclass(Loud)
    for _ in range(2):
        assert not has_torch_function((x, 1, None, [x, 2.5], (x,), x.shape, torch.float32))
        assert not has_torch_function((torch.nn.Parameter(x), [torch.nn.Parameter(x)]))
        assert not has_torch_function((x.as_subclass(Plain), object(), Plain, Loud))
        for one in (loud, Foreign()):
            assert has_torch_function((x, one)) and has_torch_function((x, [x, one]))
            assert has_torch_function([one]) and has_torch_function(iter((x, (one,))))
            assert torch.stack([x, one]) == "asked" and x + one == "asked" and torch.add(1, one) == "asked"
    assert torch.overrides.handle_torch_function(torch.add, iter((x, loud)), x, loud) == "asked"


def test_sparse_tensors_are_found_after_plain_ones() -> None:
    assert torch.ones(2).sum().item() == 2
    s = torch.ones(2, 2).to_sparse()
    assert (torch.ones(2, 2) + s).to_dense().tolist() == [[2.0, 2.0], [2.0, 2.0]]
