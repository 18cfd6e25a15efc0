"""functorch's older names: modules as functions, and the steps of vmap that libraries replace."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import functorch
from flambeau._functorch import vmap as steps


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()


@pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")
def test_a_module_is_a_function_of_its_parameters_and_buffers() -> None:
    model, x = net(), torch.randn(4, 2)
    function, params, buffers = functorch.make_functional_with_buffers(model)
    assert function.param_names == ("0.weight", "0.bias", "1.weight", "1.bias")
    assert params[0] is not model[0].weight and params[0].requires_grad
    torch.testing.assert_close(function(params, buffers, x), model(x))
    zeros = tuple(torch.zeros_like(p) for p in params)
    assert not function(zeros, buffers, x).any()
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        functorch.make_functional(model)
    function, params = functorch.make_functional(model[0], disable_autograd_tracking=True)
    assert not params[0].requires_grad
    torch.testing.assert_close(function(params, x), model[0](x).detach())


@pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")
def test_models_of_a_class_are_one_function_for_vmap() -> None:
    models, x = [torch.nn.Linear(2, 1) for _ in range(3)], torch.randn(4, 2)
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    out = torch.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    torch.testing.assert_close(out, torch.stack([m(x) for m in models]).detach())
    for wrong, words in (([], "at least one model"), ([models[0], torch.nn.ReLU()], "of the same class"),
                         ([models[0], torch.nn.Linear(2, 1).eval()], "same training/eval mode")):
        with pytest.raises(RuntimeError, match=words):
            functorch.combine_state_for_ensemble(wrong)


def test_older_forms_are_said_to_be_deprecated() -> None:
    with pytest.warns(FutureWarning, match=r"Please use `torch\.func\.functional_call` instead"):
        functorch.make_functional(torch.nn.Linear(1, 1))


class Box:
    """A container of one tensor, which vmap knows nothing about."""

    def __init__(self, value: Any) -> None:
        self.value = value


def test_steps_of_vmap_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def process(in_dims: Any, args: Any, func: Any) -> Any:
        spec = steps.tree_flatten(args)[1]
        return args[0].value.size(0), [0], list(args), spec

    def create(dims: Any, leaves: Any, level: int, spec: Any) -> Any:
        return (Box(steps._add_batch_dim(leaves[0].value, 0, level)),)

    def unwrap(result: Any, out_dims: Any, level: int, size: int, func: Any) -> Any:
        return Box(steps._maybe_remove_batch_dim("f", result.value, level, size, out_dims))

    x = torch.arange(6.0).reshape(3, 2)
    for name, step in (("_process_batched_inputs", process), ("_create_batched_inputs", create),
                       ("_unwrap_batched", unwrap)):
        monkeypatch.setattr(steps, name, step)
    out = torch.vmap(lambda box: Box(box.value.sum()))(Box(x))
    assert out.value.tolist() == [1, 5, 9]
    monkeypatch.undo()
    assert torch.vmap(lambda row: row.sum())(x).tolist() == [1, 5, 9]


def test_the_steps_do_what_vmap_does(monkeypatch: pytest.MonkeyPatch) -> None:
    own = steps._unwrap_batched
    monkeypatch.setattr(steps, "_unwrap_batched", lambda *args: own(*args))
    x, y = torch.randn(3, 2), torch.randn(2, 3)
    out = torch.vmap(lambda a, b: {"dot": a @ b, "twice": (a * 2,)}, in_dims=(0, 1))(x, y)
    torch.testing.assert_close((out["dot"], out["twice"][0]), ((x * y.T).sum(1), x * 2))
    with pytest.raises(ValueError, match="expected `in_dims` to be int or a"):
        torch.vmap(torch.sin, in_dims="x")(x)
    with pytest.raises(ValueError, match="must only return Tensors, got type"):
        steps._maybe_remove_batch_dim("f", 3, 1, 2, 0)
