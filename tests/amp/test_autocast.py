"""``autocast("cpu")``: types and values by operator, nesting, the cache of weights, functions, training."""

from __future__ import annotations

import threading
import warnings
from types import ModuleType
from typing import Any

import pytest

from .expressions import ROWS, computed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind, expression", ROWS)
def test_types(torch: ModuleType, kind: str, expression: str) -> None:
    assert str(computed(torch, expression).dtype) == f"torch.{kind}"


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_values(torch: ModuleType, oracle: ModuleType) -> None:
    for kind, expression in ROWS:
        ours, theirs = (computed(framework, expression).detach() for framework in (torch, oracle))
        assert str(theirs.dtype) == f"torch.{kind}", expression
        wide = (oracle.complex128 if theirs.is_complex() else oracle.float64)
        ours = ours.to(torch.complex128 if ours.is_complex() else torch.float64)
        found = oracle.tensor(ours.tolist(), dtype=wide)
        oracle.testing.assert_close(found, theirs.to(wide), rtol=2e-2, atol=2e-2, equal_nan=True,
                                    msg=lambda text, e=expression: f"{e}: {text}")


def test_nesting_and_switches(torch: ModuleType) -> None:
    a = torch.ones(2, 2)
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu") as outer:
        assert isinstance(outer, torch.autocast)
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype is torch.float32
            with torch.autocast("cpu", dtype=torch.float16):
                assert torch.get_autocast_dtype("cpu") is torch.float16
                assert (a @ a).dtype is torch.float16
        assert (a @ a).dtype is torch.bfloat16
        assert (a.to("meta") @ a.to("meta")).dtype is torch.float32
    assert (a @ a).dtype is torch.float32
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16

    @torch.autocast("cpu")
    def product(x: Any) -> Any:
        return x @ x
    assert product(a).dtype is torch.bfloat16 and product.__name__ == "product"
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert (a @ a).dtype is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)


def test_an_error_inside_leaves_it(torch: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        raise ZeroDivisionError
    assert not torch.is_autocast_enabled("cpu")


def test_other_threads_are_left_alone(torch: ModuleType) -> None:
    a, found = torch.ones(2, 2), []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((a @ a).dtype))
        thread.start()
        thread.join()
        assert (a @ a).dtype is torch.bfloat16
    assert found == [torch.float32]


def test_in_place_and_out_keep_their_types(torch: ModuleType) -> None:
    a = torch.rand(3, 3)
    with torch.autocast("cpu"):
        product = torch.mm(a, a, out=torch.empty(3, 3))
        written = a.clone().addmm_(a, a)
    assert torch.equal(product, a @ a)
    assert torch.equal(written, torch.addmm(a, a, a))


def test_weights_are_cast_once(torch: ModuleType) -> None:
    layer, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    with torch.autocast("cpu"):
        first = layer(x)
        with torch.no_grad():
            layer.weight.add_(1)
        with torch.autocast("cpu"):
            pass
        assert torch.equal(layer(x), first)
        torch.clear_autocast_cache()
        assert not torch.equal(layer(x), first)
    with torch.autocast("cpu", cache_enabled=False):
        first = layer(x)
        with torch.no_grad():
            layer.weight.add_(1)
        assert not torch.equal(layer(x), first)
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not layer(x).requires_grad
        assert layer(x).requires_grad
    layer(x).sum().backward()
    assert layer.weight.grad.dtype is torch.float32


def test_functions_run_backward_as_forward(torch: ModuleType) -> None:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.append((grad @ x).dtype)
            return (grad @ x).float()

    class Wide(Product):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            seen.append(x.dtype)
            return x @ x

    x = torch.eye(2, requires_grad=True)
    with torch.autocast("cpu"):
        narrow, wide = Product.apply(x), Wide.apply(x.bfloat16())
    assert (narrow.dtype, wide.dtype) == (torch.bfloat16, torch.float32)
    narrow.sum().backward()
    Product.apply(x).sum().backward()
    assert seen == [torch.float32, torch.bfloat16, torch.float32]


@pytest.mark.parametrize("arguments, message", [
    (("cpu", "float64"), "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                         "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."),
    (("cuda",), "CUDA is not available or torch_xla is imported. Disabling autocast."),
])
def test_what_cannot_be_switched_on(torch: ModuleType, arguments: tuple[str, ...], message: str) -> None:
    dtypes = [getattr(torch, name) for name in arguments[1:]]
    with pytest.warns(UserWarning) as caught:
        made = torch.autocast(arguments[0], *dtypes)
    assert str(caught[0].message) == message
    with made:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def test_errors(torch: ModuleType) -> None:
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        torch.autocast("meta", dtype=torch.float16)
    with pytest.raises(TypeError, match=r"argument 'dtype' \(position 2\) must be torch.dtype, not int"):
        torch.set_autocast_dtype("cpu", 3)
    with pytest.warns(FutureWarning, match="`torch.cpu.amp.autocast"):
        torch.cpu.amp.autocast()


def losses(torch: ModuleType, dtype: str) -> list[float]:
    """A few steps of training of a little network of many layers."""
    torch.manual_seed(0)
    body = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 8, 3), torch.nn.GroupNorm(2, 8), torch.nn.GELU(), torch.nn.Flatten(),
        torch.nn.Linear(32, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(body.parameters(), 1e-2)
    x, y = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
    found = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            loss = torch.nn.functional.cross_entropy(body(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_training_as_the_oracle(torch: ModuleType, oracle: ModuleType, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = losses(torch, dtype), losses(oracle, dtype)
    assert ours == pytest.approx(theirs, rel=5e-2, abs=2e-2)
    assert ours[-1] < ours[0]
