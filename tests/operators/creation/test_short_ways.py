"""Factories make in few steps what they make in many."""

from __future__ import annotations

import pytest

import flambeau as torch

MAKERS = {
    "zeros": lambda **given: torch.zeros(3, 4, **given), "zeros of a tuple": lambda **given:
    torch.zeros((3, 4), **given), "ones": lambda **given: torch.ones(3, 4, **given),
    "empty": lambda **given: torch.empty(3, 4, **given), "rand": lambda **given: torch.rand(3, 4, **given),
    "randn": lambda **given: torch.randn(3, 4, **given),
}
LIKE = {"zeros_like": torch.zeros_like, "ones_like": torch.ones_like, "rand_like": torch.rand_like,
        "randn_like": torch.randn_like}


@pytest.mark.parametrize("name", MAKERS)
def test_type_and_device_are_those_asked_for(name):
    make = MAKERS[name]
    for _ in range(2):      # the geometry is known the second time
        assert make().dtype is torch.float32 and make().shape == (3, 4) and make().device.type == "cpu"
        assert make(dtype=torch.float64).dtype is torch.float64
        assert make(device="cpu", dtype=torch.float64).dtype is torch.float64
        assert make(device=torch.device("cpu")).device.type == "cpu"
        assert make(device="meta").device.type == "meta"
        assert make(requires_grad=True).requires_grad and not make(requires_grad=False).requires_grad
        with torch.device("meta"):
            assert make().device.type == "meta" and make(device="cpu").device.type == "cpu"
        torch.set_default_dtype(torch.float64)
        try:
            assert make().dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.inference_mode():
            assert make().is_inference()


@pytest.mark.parametrize("name", LIKE)
def test_what_is_made_like_a_tensor_is_like_it(name):
    make = LIKE[name]
    for x in (torch.ones(3, 4), torch.ones(3, 4, dtype=torch.float64), torch.ones(4, 3).t(),
              torch.ones(5, 4)[2:], torch.ones(3, 1).expand(3, 4), torch.ones(3, 4, requires_grad=True)):
        made = make(x)
        assert (made.shape, made.dtype, made.stride()) == (x.shape, x.dtype, torch.empty_like(x).stride())
        assert not made.requires_grad and made.storage_offset() == 0
    assert make(torch.ones(3, 4, device="meta")).device.type == "meta"


def test_new_tensors_have_the_type_of_another():
    for dtype in (torch.float32, torch.int64, torch.bool):
        x = torch.zeros(2, dtype=dtype)
        for _ in range(2):
            assert x.new_zeros(3, 4).dtype is dtype and x.new_ones((3, 4)).dtype is dtype
            assert x.new_zeros(3, 4, dtype=torch.float64).dtype is torch.float64
    assert torch.zeros(2, device="meta").new_zeros(3, 4).device.type == "meta"


def test_ranges_and_integers():
    for _ in range(2):
        assert torch.arange(3).tolist() == [0, 1, 2] and torch.arange(2, 5).tolist() == [2, 3, 4]
        assert torch.arange(3, device="cpu").dtype is torch.int64 and torch.arange(0).tolist() == []
        assert torch.arange(3.0).dtype is torch.float32
        assert torch.arange(3, dtype=torch.int32).dtype is torch.int32
        assert torch.arange(3, device="meta").device.type == "meta"
        assert torch.full((2, 3), 2).dtype is torch.int64
        assert torch.full((2, 3), 2.5).tolist() == [[2.5] * 3] * 2
        drawn = torch.randint(3, 7, (5, 4))
        assert drawn.dtype is torch.int64 and drawn.min() >= 3 and drawn.max() < 7
        assert torch.randint(2, (5, 4), device="cpu").max() < 2
        assert torch.randint(2, (5, 4), dtype=torch.int32).dtype is torch.int32


@pytest.mark.parametrize("draw", [
    lambda **given: torch.rand(5, 4, **given), lambda **given: torch.randn(5, 4, **given),
    lambda **given: torch.randint(0, 9, (5, 4), **given)])
def test_the_same_numbers_are_drawn_whichever_way(draw):
    torch.manual_seed(3)
    found = [draw(), draw(device="cpu")]
    with torch.no_grad():
        found.append(draw())
    torch.manual_seed(3)
    generator = torch.default_generator
    expected = [draw(generator=generator) for _ in range(3)]
    assert all(torch.equal(x, y) for x, y in zip(found, expected))


@pytest.mark.parametrize("wrong", [
    lambda: torch.zeros(), lambda: torch.zeros(2.0), lambda: torch.zeros(True), lambda: torch.ones("a"),
    lambda: torch.zeros(2, dtype=3), lambda: torch.randn(2, nonsense=1), lambda: torch.arange("a"),
    lambda: torch.ones(1).new_zeros()])
def test_wrong_arguments_are_refused(wrong):
    torch.zeros(1), torch.zeros(2)
    with pytest.raises(TypeError):
        wrong()


@pytest.mark.parametrize("wrong", [
    lambda: torch.zeros(-1), lambda: torch.randn(3, -2), lambda: torch.arange(3, 1),
    lambda: torch.full((-1,), 2.0), lambda: torch.randint(5, 5, (3, 4)),
    lambda: torch.zeros(2, device="nowhere")])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(RuntimeError):
        wrong()


def test_each_remembers_the_line_that_made_it():
    for make in (*MAKERS.values(), lambda: torch.arange(3), lambda: torch.zeros_like(torch.ones(2)),
                 lambda: torch.ones(2).new_zeros(3), lambda: torch.cat([torch.ones(2), torch.ones(3)])):
        code, _ = make()._storage.node.site
        assert code.co_filename == __file__
