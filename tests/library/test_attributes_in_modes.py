"""Modes hear of attributes that programs read, write and delete, as PyTorch's do."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

READ = ("grad", "shape", "T", "mT", "H", "mH", "dtype", "device", "layout", "requires_grad", "is_leaf",
        "grad_fn", "data", "ndim", "itemsize", "nbytes", "is_meta", "is_cpu", "real", "output_nr",
        "retains_grad", "_version", "name", "grad_dtype", "_backward_hooks")


def _names(torch: ModuleType) -> dict[Any, str]:
    """The functions that a mode is told, asked for before there is one."""
    found = {getattr(torch.Tensor, name).__get__: f"{name} read" for name in READ}
    for name in ("grad", "data", "requires_grad"):
        found[getattr(torch.Tensor, name).__set__] = f"{name} written"
    found[torch.Tensor.grad.__delete__] = "grad deleted"
    return found


def _heard(torch: ModuleType) -> list[Any]:
    names, heard = _names(torch), []

    class Heard(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in names:
                heard.append((names[func], len(args), [t.__name__ for t in types]))
            if func == torch.Tensor.mT.__get__:
                return "another value"
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 2, requires_grad=True)
    with Heard():
        heard += [str(getattr(x, name)) for name in READ if name != "grad_dtype"]
        assert x.grad_dtype is torch.float32
        x.grad = torch.zeros(2, 2)
        x.requires_grad = True
        x.data = x.data * 2
        del x.grad
        with pytest.raises(AttributeError):
            _ = x.no_such_attribute
        with torch._C.DisableTorchFunction():
            heard.append(x.shape)
        y = torch.nn.functional.relu(x)
        heard.append(y.sum().item())
    heard.append((x.shape, x.mT.tolist()))
    return heard


@pytest.mark.oracle
def test_modes_hear_of_attributes(oracle: ModuleType) -> None:
    import flambeau
    ours, theirs = _heard(flambeau), _heard(oracle)
    assert [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b] == []


def test_attributes_are_as_before_once_the_modes_are_over(torch: ModuleType) -> None:
    class Through(torch.overrides.BaseTorchFunctionMode):
        pass

    before = dict(vars(torch.Tensor))
    with pytest.raises(KeyError), Through(), Through():
        assert torch.ones(1).shape == (1,)
        raise KeyError
    assert {name: vars(torch.Tensor)[name] for name in before} == before


def test_subclasses_keep_hearing_first_of_their_own(torch: ModuleType) -> None:
    heard: list[str] = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append("subclass")
            return super().__torch_function__(func, types, args, kwargs)

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append("mode")
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Told)
    with Mode():
        assert x.shape == (2,)
    assert heard[0] == "mode"
