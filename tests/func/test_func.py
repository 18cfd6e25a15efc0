"""torch.func: derivatives of functions, vmap, functional modules."""

from __future__ import annotations

from typing import Any

import pytest

Program = Any


def _vectors(torch: Any) -> tuple[Any, Any]:
    return torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 0.5, 2.0])


def test_grad_nests(torch: Any) -> None:
    x = torch.tensor(0.3)
    assert torch.func.grad(torch.func.grad(torch.sin))(x).item() == pytest.approx(-x.sin().item(), rel=1e-6)


def test_grad_of_several_arguments_and_trees(torch: Any) -> None:
    x, y = _vectors(torch)
    by_x, by_y = torch.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, y)
    assert torch.equal(by_x, y) and torch.equal(by_y, x)
    gradient, (value, aux) = torch.func.grad_and_value(
        lambda d: ((d["a"] * d["b"][0]).sum(), d["a"] + 1), has_aux=True
    )({"a": x, "b": [y]})
    assert torch.equal(gradient["b"][0], x) and value.item() == 7.5 and torch.equal(aux, x + 1)


def test_results_depend_on_nothing_inside(torch: Any) -> None:
    x, _ = _vectors(torch)
    gradient = torch.func.grad(lambda a: (a**3).sum())(x)
    assert not gradient.requires_grad and x.grad is None
    nested = torch.func.grad(lambda w: torch.func.grad(lambda a: (w * a**2).sum())(x).sum())(x)
    assert not nested.requires_grad and torch.equal(nested, 2 * x)
    weight = torch.ones(3, requires_grad=True)
    gradient = torch.func.grad(lambda a: (a**2 * weight).sum())(x)
    assert torch.equal(torch.autograd.grad(gradient.sum(), weight)[0], 2 * x)


def test_vjp_and_jvp(torch: Any) -> None:
    x, y = _vectors(torch)
    (_, total), pull = torch.func.vjp(lambda a: (a * 2, a.sum()), x)
    assert total.item() == 6 and torch.equal(pull((x, torch.tensor(1.0)))[0], 2 * x + 1)
    value, derivative = torch.func.jvp(lambda a, b: a * b, (x, y), (y, x))
    assert torch.equal(value, x * y) and torch.equal(derivative, x * x + y * y)


def test_jacobians(torch: Any) -> None:
    x, y = _vectors(torch)
    expected = torch.diag(2 * x)
    assert torch.equal(torch.func.jacrev(torch.square)(x), expected)
    assert torch.equal(torch.func.jacfwd(torch.square)(x), expected)
    assert torch.equal(torch.func.hessian(lambda a: (a**3).sum())(x), torch.diag(6 * x))
    rows, sums = torch.func.jacfwd(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, y)
    assert torch.equal(rows[1], torch.diag(x)) and torch.equal(sums[1], torch.zeros(3))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            lambda f: f.grad(lambda x: x * 2),
            1,
            "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims",
        ),
        (lambda f: f.vmap(lambda x: 3), 1, "`<lambda>` must only return Tensors, got type <class 'int'>"),
        (lambda f: f.vmap(lambda x: x, in_dims=3), 1, "that input is a Tensor of dimensionality 1"),
        (lambda f: f.vmap(lambda x: x), 0, "got no inputs"),
    ],
)
def test_errors(torch: Any, function: Program, arguments: int, message: str) -> None:
    with pytest.raises((RuntimeError, ValueError)) as error:
        function(torch.func)(*[torch.ones(3)] * arguments)
    assert message in str(error.value)


def test_vmap(torch: Any) -> None:
    batch, (x, _) = torch.arange(6.0).view(2, 3), _vectors(torch)
    assert torch.equal(torch.vmap(torch.dot, in_dims=(0, None))(batch, x), batch @ x)
    assert torch.equal(torch.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(batch), batch * 2)
    outer = torch.vmap(torch.vmap(torch.mul, (0, None)), (None, 0))(x, x)
    assert torch.equal(outer, torch.outer(x, x))
    assert torch.equal(torch.vmap(torch.func.grad(lambda a: (a**2).sum()))(batch), 2 * batch)


def test_ensembles_and_gradients_per_example(torch: Any) -> None:
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    x = torch.randn(4, 3)
    call = torch.func.functional_call
    together = torch.vmap(lambda p, b, x: call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(
        parameters, buffers, x
    )
    torch.testing.assert_close(together, torch.stack([model(x) for model in models]))

    values = {name: p.detach() for name, p in models[0].named_parameters()}
    each = torch.vmap(
        torch.func.grad(lambda p, x: call(models[0], p, (x,)).square().sum()), in_dims=(None, 0)
    )
    models[0](x).square().sum().backward()
    torch.testing.assert_close(each(values, x)["weight"].sum(0), models[0].weight.grad)


def test_linearize(torch: Any) -> None:
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0])
    value, along = torch.func.linearize(lambda a, b: (a * b, {"s": a.sum()}), x, x)
    assert torch.equal(value[0], x * x)
    assert torch.equal(along(v, v)[0], 2 * x * v) and along(v, v)[1]["s"].item() == 2.0
    with pytest.raises(RuntimeError, match=r"tangent:0 with shape torch.Size\(\[3\]\) in flattened pytree"):
        along(torch.ones(3), v)
    with pytest.raises(RuntimeError, match="have the same argspec as the primals"):
        along(v)
    assert torch.equal(torch.func.functionalize(lambda x: x.add_(1))(x.clone()), x + 1)
    seen = []
    torch.vmap(lambda x: seen.append(torch.func.debug_unwrap(x)) or x)(torch.ones(2, 3))
    assert seen[0].shape == (2, 3)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "call",
    [
        "grad(torch.sum)(3.0)",
        "grad(torch.sum)(torch.arange(3))",
        "grad(torch.sum, argnums='a')(x)",
        "grad(torch.sum, argnums=2)(x)",
        "vjp(lambda x: 3, x)",
        "jvp(torch.sin, x, x)",
        "jvp(torch.sin, (x,), (torch.ones(2),))",
        "jvp(torch.sin, (), ())",
        "jvp(lambda x: 3, (x,), (x,))",
        "jacrev(torch.sin)(torch.arange(3))",
        "jacrev(torch.sin, chunk_size=0)",
    ],
)
def test_errors_of_pytorch(torch: Any, oracle: Any, call: str) -> None:
    def error(framework: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError)) as caught:
            eval(call, {**vars(framework.func), "torch": framework, "x": framework.ones(3)})
        return caught.type, str(caught.value)

    assert error(torch) == error(oracle)


def test_batches_of_images_that_are_channels_last(torch: Any) -> None:
    F, last = torch.nn.functional, torch.channels_last
    x = torch.arange(384.0).sin().reshape(2, 4, 6, 8).contiguous(memory_format=last)
    w = torch.arange(432.0).cos().reshape(2, 6, 4, 3, 3)
    each = torch.func.vmap(lambda a: F.conv2d(x, a, padding=1))(w)
    assert torch.allclose(each[1], F.conv2d(x, w[1], padding=1), atol=1e-4)
    found = torch.func.vmap(torch.func.grad(lambda a, b: F.conv2d(b[None], a).square().sum()), (None, 0))(
        w[0].contiguous(memory_format=last), x)
    one = torch.func.grad(lambda a: F.conv2d(x[1:], a).square().sum())(w[0])
    assert torch.allclose(found[1], one, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["jvp", "jacfwd", "linearize"])
def test_forward_derivatives_of_functions_that_write_to_their_inputs(torch: Any, name: str) -> None:
    def function(x: Any) -> Any:
        x[1:].relu_()
        return x * x

    func, x, one = torch.func, torch.tensor([1.0, -2.0, 3.0]), torch.ones(3)
    found = {"jvp": lambda: func.jvp(function, (x,), (one,))[1],
             "jacfwd": lambda: func.jacfwd(function)(x).sum(1),
             "linearize": lambda: func.linearize(function, x)[1](one)}[name]()
    assert found.tolist() == [2, 0, 6] and x.tolist() == [1, 0, 3]


# Whose gradients PyTorch takes for functions of an operand in form alone.
FORMAL = ["F.conv1d(x[None], w)", "F.prelu(x, w[0, :, 0])", "F.avg_pool1d(x, 2)", "F.max_pool1d(x, 2)",
          "F.layer_norm(x, (2,), x[0], x[1])", "F.nll_loss(x, torch.tensor([0, 1]))"]


@pytest.mark.parametrize("expression", FORMAL)
def test_jacobians_by_rows_and_by_columns_agree(torch: Any, expression: str) -> None:
    def function(x: Any) -> Any:
        return eval(expression, {"x": x, "w": w, "F": torch.nn.functional, "torch": torch})

    x = torch.tensor([[0.3, -0.7], [0.2, 0.9]], dtype=torch.float64)
    w = torch.tensor([[[0.1], [0.2]], [[-0.3], [0.4]]], dtype=torch.float64)
    by_rows, by_columns = torch.func.jacrev(function)(x), torch.func.jacfwd(function)(x)
    torch.testing.assert_close(by_rows, by_columns)
    torch.testing.assert_close(by_rows, torch.autograd.functional.jacobian(function, x))
