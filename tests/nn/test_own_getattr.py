"""A module class with a ``__getattr__`` of its own sees every access to a member, and others need not."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest


@pytest.mark.parametrize("base_first", [False, True])
def test_members_pass_through_it(torch: ModuleType, base_first: bool) -> None:
    class Base(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("shift", torch.zeros(2))
            self.inner = torch.nn.Linear(2, 2)

    seen: list[str] = []

    class Watching:
        def __getattr__(self, name: str) -> Any:
            seen.append(name)
            found = super().__getattr__(name)  # type: ignore[misc]
            return found * 3 if name == "weight" else found

    class Watched(Watching, Base):
        pass

    first = Base() if base_first else None
    watched, plain = Watched(), first or Base()
    seen.clear()
    assert watched.weight.tolist() == [3.0, 3.0] and watched.shift.tolist() == [0.0, 0.0]
    assert watched.inner.weight.shape == (2, 2)
    assert seen == ["weight", "shift", "inner"]
    assert plain.weight.tolist() == [1.0, 1.0] and seen == ["weight", "shift", "inner"]
    assert dict(watched.named_parameters())["weight"].tolist() == [1.0, 1.0]
    assert "weight" in dir(watched) and not hasattr(Watched, "weight")


def test_wrappers_forward_what_they_lack(torch: ModuleType) -> None:
    class Wrapper(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    wrapped = Wrapper(torch.nn.Linear(3, 2))
    assert wrapped.in_features == 3 and wrapped.weight is wrapped.inner.weight
    with pytest.raises(AttributeError, match="nothing"):
        wrapped.nothing


def test_other_base_classes_are_looked_at_too(torch: ModuleType) -> None:
    """What a layer's class keeps as members of its instances hides no property of a class after it."""
    class Wrapped:
        shift = 3

        @property
        def bias(self) -> str:
            return "the wrapped one's"

    class Layer(torch.nn.Linear, Wrapped):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super(torch.nn.Linear, self).__init__()

    torch.nn.Linear(2, 2).register_buffer("shift", torch.zeros(1))
    layer = Layer()
    assert layer.bias == "the wrapped one's"
    assert layer.shift == 3 and Layer.shift == 3
    assert isinstance(Layer.bias, property)
    with pytest.raises(AttributeError, match="'Layer' object has no attribute 'weight'"):
        layer.weight
