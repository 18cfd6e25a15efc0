"""Schemas of operators: what they say about memory, and which kernels they get."""

from __future__ import annotations

from typing import Any

import pytest

# what is written for an argument -> (text, names before, names after, whether it is written, length)
ALIASES: dict[str, tuple[str, list[str], list[str], bool, int | None]] = {
    "Tensor(a) x": ("Tensor(a) x", ["a"], ["a"], False, None),
    "Tensor(a!) x": ("Tensor(a!) x", ["a"], ["a"], True, None),
    "Tensor(a|b) x": ("Tensor(a|b) x", ["a", "b"], ["a", "b"], False, None),
    "Tensor(a -> b)? x": ("Tensor(a -> b)? x", ["a"], ["b"], False, None),
    "Tensor(a -> *) x": ("Tensor(a -> *) x", ["a"], ["*"], False, None),
    "Tensor(a!)[] x": ("Tensor(a!)[] x", [], [], True, None),
    "Tensor! x": ("Tensor($0! -> ) x", ["$0"], [], True, None),
    "Tensor!? x": ("Tensor($0! -> )? x", ["$0"], [], True, None),
}


@pytest.mark.parametrize("written", ALIASES)
def test_whose_memory_an_argument_shares(torch: Any, written: str) -> None:
    text, before, after, writes, length = ALIASES[written]
    name = f"a{list(ALIASES).index(written)}"
    lib = torch.library.Library(f"schemas_{name}", "DEF")
    lib.define(f"{name}(Tensor y, {written}, int[3] k=1) -> ()")
    schema = getattr(getattr(torch.ops, f"schemas_{name}"), name).default._schema
    plain, argument, k = schema.arguments
    info = argument.alias_info
    assert plain.alias_info is None and (argument.N, k.N) == (length, 3)
    assert (sorted(info.before_set), sorted(info.after_set), info.is_write) == (before, after, writes)
    if "|" not in written:
        assert f"Tensor y, {text}, " in str(schema)


@pytest.mark.parametrize("kinds", ["default", "cpu", None, ["default", "cuda"]], ids=str)
def test_kernels_for_all_devices(torch: Any, kinds: Any) -> None:
    name = f"schemas_kernels::f{abs(hash(str(kinds)))}"
    torch.library.define(name, "(Tensor x) -> Tensor")
    torch.library.register_kernel(name, kinds)(lambda x: x + 1)
    assert getattr(torch.ops.schemas_kernels, name[17:])(torch.ones(1)).tolist() == [2.0]


def test_overriding_is_disabled_by_what_parameters_have(torch: Any) -> None:
    """As weights of a quantized layer do: what they do not answer themselves, their base class does."""
    class Weight(torch.nn.Parameter):                       # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):     # type: ignore[no-untyped-def]
            return super().__torch_function__(func, types, args, kwargs or {})

    class Plain(torch.Tensor):                              # type: ignore[misc, name-defined]
        __torch_function__ = torch._C._disabled_torch_function_impl

    weight = Weight(torch.ones(2))
    assert type(weight + 1) is torch.Tensor
    weight.data = torch.zeros(2)
    assert weight.sum().item() == 0.0
    plain = torch.ones(2).as_subclass(Plain)
    assert type(plain + 1) is torch.Tensor
    assert type(Plain.__torch_function__(torch.add, (Plain,), (plain, 1))) is torch.Tensor
