"""vmap beyond single operators: nesting, gradients, random numbers, dimensions, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def _batch(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.randn(4, 3)


def test_nesting(torch: Any) -> None:
    x, y = _batch(torch), _batch(torch) + 1
    found = torch.vmap(lambda a: torch.vmap(lambda b: (a - b).pow(2).sum())(y))(x)
    assert torch.allclose(found, torch.cdist(x, y) ** 2, atol=1e-5)
    across = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    assert torch.allclose(across, x @ y.T, atol=1e-6)
    assert torch.equal(torch.vmap(torch.vmap(lambda a: a * 2, in_dims=0), in_dims=1, out_dims=1)(x), x * 2)


def test_gradients_of_each_example(torch: Any) -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    parameters = {name: p.detach() for name, p in layer.named_parameters()}
    x, target = _batch(torch), torch.tensor([0, 1, 1, 0])

    def loss(p: Any, one: Any, label: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.func.functional_call(layer, p, (one,)), label)
    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, target)
    for i in range(4):
        layer.zero_grad()
        torch.nn.functional.cross_entropy(layer(x[i]), target[i]).backward()
        for name, p in layer.named_parameters():
            assert torch.allclose(found[name][i], p.grad, atol=1e-6)


def test_gradients_around_and_both(torch: Any) -> None:
    x, weight = _batch(torch), torch.tensor([1.0, -2.0, 0.5])
    outer = torch.func.grad(lambda w: torch.vmap(lambda a: (a * w).sum() ** 2)(x).sum())(weight)
    assert torch.allclose(outer, 2 * x.T @ (x @ weight), atol=1e-5)
    hessians = torch.vmap(torch.func.hessian(lambda a: (a**3).sum()))(x)
    assert torch.allclose(hessians, torch.diag_embed(6 * x), atol=1e-5)
    leaf = weight.clone().requires_grad_()
    torch.vmap(lambda a: (a * leaf).sum())(x).sum().backward()
    assert torch.allclose(leaf.grad, x.sum(0), atol=1e-6)


def test_rows_of_a_jacobian(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    _, pull = torch.func.vjp(lambda a: torch.stack([a.sum(), (a**2).sum()]), x)
    rows = torch.vmap(pull)(torch.eye(2))[0]
    assert torch.equal(rows, torch.stack([torch.ones(3), 2 * x]))


def test_an_ensemble(torch: Any) -> None:
    models = [torch.nn.Conv2d(2, 4, 3) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    image = torch.randn(2, 2, 5, 5)

    def one(p: Any, b: Any, x: Any) -> Any:
        return torch.func.functional_call(models[0], (p, b), (x,))
    found = torch.vmap(one, in_dims=(0, 0, None))(parameters, buffers, image)
    assert torch.allclose(found, torch.stack([m(image) for m in models]), atol=1e-5)


def test_dimensions_and_chunks(torch: Any) -> None:
    x = _batch(torch)
    pair = torch.vmap(lambda d: (d["a"] * 2, d["b"] + d["a"].sum()), in_dims=({"a": 1, "b": None},),
                      out_dims=(-1, 0))({"a": x, "b": torch.ones(2)})
    assert torch.equal(pair[0], x * 2) and pair[1].shape == (3, 2)
    assert torch.equal(torch.vmap(torch.sum, chunk_size=3)(x), torch.vmap(torch.sum)(x))
    assert torch.vmap(lambda a: a * 2)(torch.ones(0, 3)).shape == (0, 3)
    shared = torch.vmap(lambda a: torch.ones(2), out_dims=None)(x)
    assert shared.shape == (2,)


def test_random_numbers(torch: Any) -> None:
    x = torch.zeros(2, 3)
    torch.manual_seed(0)
    expected = torch.rand(2, 3)
    torch.manual_seed(0)
    assert torch.equal(torch.vmap(lambda a: a + torch.rand(3), randomness="different")(x), expected)
    torch.manual_seed(0)
    same = torch.vmap(lambda a: a + torch.rand(3), randomness="same")(x)
    assert torch.equal(same[0], expected[0]) and torch.equal(same[0], same[1])
    dropped = torch.vmap(lambda a: torch.nn.functional.dropout(a + 1), randomness="same")(torch.zeros(3, 50))
    assert torch.equal(dropped[0], dropped[2])
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        torch.vmap(lambda a: a + torch.rand(3))(x)


def test_other_tensors_are_left_alone(torch: Any) -> None:
    kept = torch.zeros(3)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        torch.vmap(lambda a: kept.copy_(a))(_batch(torch))
    assert torch.equal(kept, torch.zeros(3)) and torch.equal(kept + 1, torch.ones(3))


def test_tensors_made_like_an_example_can_be_written_to(torch: Any) -> None:
    def reversed_sums(a: Any) -> Any:
        result = torch.zeros_like(a)
        result[0] = a.sum()
        result[1:] = a.new_ones(2) * a[0]
        return result
    x = _batch(torch)
    found = torch.vmap(reversed_sums)(x)
    assert torch.allclose(found[:, 0], x.sum(1)) and torch.equal(found[:, 2], x[:, 0])
    nested = torch.vmap(torch.vmap(lambda a: torch.zeros_like(a).add_(a)))(x)
    assert torch.equal(nested, x)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: a.sum().item(), "It looks like you're calling .item() on a Tensor"),
    (lambda a: a if a.sum() > 0 else -a, "use a Tensor in some data-dependent control flow"),
    (lambda a: a.nonzero(), "can output dynamic shape. Attempted to vmap over aten::nonzero"),
    (lambda a: a[a > 0], "Attempting to batch over indexing with a boolean mask"),
    (lambda a: a.masked_select(a > 0), "Attempted to vmap over `mask` in torch.masked_select"),
    (lambda a: a.numpy(), "Cannot access data pointer of Tensor that doesn't have storage"),
    (lambda a: a.requires_grad_(), "You are attempting to call Tensor.requires_grad_()"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(torch: Any, function: Any, message: str) -> None:
    with pytest.raises(RuntimeError) as error:
        torch.vmap(function)(_batch(torch))
    assert message in str(error.value)
    assert torch.equal(torch.vmap(lambda a: a + 1)(torch.zeros(2)), torch.ones(2))


def test_wrong_dimensions(torch: Any) -> None:
    x = _batch(torch)
    for options, message in (
        ({"in_dims": "a"}, "expected `in_dims` to be int or a (potentially nested) tuple"),
        ({"in_dims": (0, 0)}, "in_dims is not compatible with the structure of `inputs`"),
        ({"in_dims": 2}, "expected in_dim to satisfy -2 <= in_dim < 2"),
        ({"out_dims": None}, "can not return a BatchedTensor when out_dim is None"),
        ({"out_dims": (0, 0)}, "out_dims is not compatible with the structure of `outputs`"),
    ):
        with pytest.raises(ValueError) as error:
            torch.vmap(lambda a: a, **options)(x)
        assert message in str(error.value)


def test_jacobians_are_one_backward_pass(torch: Any) -> None:
    calls = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            calls.append(grad.shape)
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (rows,) = torch.autograd.grad(Cube.apply(x), x, torch.eye(3), is_grads_batched=True)
    assert torch.equal(rows, torch.diag(3 * x.detach() ** 2)) and len(calls) == 1
    found = torch.autograd.functional.jacobian(lambda x: x.sin().cumsum(0), x, vectorize=True)
    assert torch.equal(found, torch.autograd.functional.jacobian(lambda x: x.sin().cumsum(0), x))


def test_jacobians_inside_of_vmap_and_by_chunks(torch: Any) -> None:
    torch.manual_seed(0)
    w, x = torch.randn(4, 3), torch.randn(5, 3)

    def layer(x: Any) -> Any:
        return (w @ x).tanh()
    each = torch.stack([torch.func.jacrev(layer)(row) for row in x])
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        torch.testing.assert_close(torch.vmap(transform(layer))(x), each)
    torch.testing.assert_close(torch.func.jacrev(layer, chunk_size=3)(x[0]), each[0])
    second = torch.func.hessian(lambda x: layer(x).sum())
    torch.testing.assert_close(torch.vmap(second)(x), torch.stack([second(row) for row in x]))


def test_what_looks_at_values_is_looped(torch: Any) -> None:
    class Looking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 if grad.sum().item() > 0 else grad
    x = torch.ones(2, requires_grad=True)
    (rows,) = torch.autograd.grad(Looking.apply(x), x, torch.eye(2) * torch.tensor([[1.0], [-1.0]]),
                                  is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, -1.0]]


def test_keyword_arguments_are_shared(torch: Any) -> None:
    x = _batch(torch)
    found = torch.vmap(lambda a, k, d: a * k + d["b"])(x, k=x, d={"b": torch.ones(4, 3)})
    assert torch.equal(found, x.unsqueeze(1) * x + 1)


def test_indices_that_differ_by_example(torch: Any) -> None:
    x, indices = _batch(torch), torch.tensor([2, 0, 1, 1])
    assert torch.equal(torch.vmap(lambda a, i: a[i])(x, indices), x[torch.arange(4), indices])
    assert torch.equal(torch.vmap(lambda i: x[i])(indices), x[indices])
    assert torch.equal(torch.vmap(lambda a, i: a[None, i])(x, indices)[:, 0], x[torch.arange(4), indices])


def test_a_variable_is_each_examples_own_at_every_level(torch: Any) -> None:
    """The derivative by what no level has as a batch, of what two nested levels have."""
    w, x = torch.eye(3) + 0.5, torch.arange(6.0).reshape(2, 3)

    def pulled(row: Any, weights: Any) -> Any:
        return torch.func.vjp(lambda w: torch.tanh(w @ row), w)[1](weights)[0]
    found = torch.vmap(lambda row: torch.vmap(lambda v: pulled(row, v))(torch.eye(3)))(x)
    assert found.shape == (2, 3, 3, 3)
    for i in range(2):
        torch.testing.assert_close(found[i, 1], pulled(x[i], torch.eye(3)[1]))
