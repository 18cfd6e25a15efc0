"""Exchanging tensors, converting modules with and without new parameters, and loading afterwards."""

from __future__ import annotations

import weakref
from typing import Any

from .program import attempt, program


def described(tensor: Any) -> Any:
    return type(tensor).__name__, str(tensor.dtype).rpartition(".")[2], tensor.requires_grad, tensor.tolist()


@program
def swapped_tensors_exchange_everything(torch: Any) -> Any:
    a, b = torch.nn.Parameter(torch.ones(2)), torch.zeros(3, dtype=torch.int32)
    a.note = "a"
    a.grad = torch.full((2,), 5.0)
    torch.utils.swap_tensors(a, b)
    return described(a), described(b), b.note, hasattr(a, "note"), b.grad.tolist()


@program
def hooks_go_with_a_swapped_tensor(torch: Any) -> Any:
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    a.register_hook(lambda grad: grad * 2)
    torch.utils.swap_tensors(a, b)
    (a * 1).sum().backward()
    (b * 1).sum().backward()
    return a.grad.tolist(), b.grad.tolist()


@program
def what_was_computed_before_a_swap_has_no_gradient(torch: Any) -> Any:
    """Backward would reach another tensor than the one that was computed with."""
    a, b = torch.ones(3, requires_grad=True), torch.zeros(3)
    y = a * 2
    torch.utils.swap_tensors(a, b)
    error = attempt(lambda: y.sum().backward())
    return error, a.requires_grad, b.requires_grad, a.grad is None, b.grad is None


@program
def a_swapped_view_stays_a_view(torch: Any) -> Any:
    base, other = torch.ones(3), torch.zeros(2)
    view = base[1:]
    torch.utils.swap_tensors(view, other)
    other.add_(5)
    return base.tolist(), view.tolist()


@program
def weakly_referenced_tensors_are_not_swapped(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    reference = weakref.ref(layer.weight)
    error = attempt(lambda: torch.utils.swap_tensors(layer.weight, torch.nn.Parameter(torch.ones(3, 3))))
    return error, list(reference().shape)


@program
def conversion_under_each_switch(torch: Any) -> Any:
    seen = []
    for switch in ("swap", "overwrite", None):
        name = f"set_{switch}_module_params_on_conversion"
        set_switch = getattr(torch.__future__, name, lambda value: None)
        set_switch(True)
        try:
            layer = torch.nn.Linear(2, 2)
            layer.bias.grad = torch.ones(2)
            before = layer.bias
            layer.double()
            kept = layer.bias is before
            layer.load_state_dict(torch.nn.Linear(2, 2).state_dict())
            seen.append((switch, kept, str(layer.bias.dtype)[-7:], layer.bias.grad is None))
        finally:
            set_switch(False)
    return seen


@program
def conversion_that_cannot_swap(torch: Any) -> Any:
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer = torch.nn.Linear(2, 2)
        reference = weakref.ref(layer.weight)
        loaded = attempt(lambda: layer.load_state_dict(layer.state_dict()))
        return attempt(layer.double), loaded, reference() is None
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


@program
def moving_to_meta_makes_new_parameters(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    before = layer.weight
    layer.to("meta")
    return layer.weight is before, str(layer.weight.device), layer.weight.requires_grad


@program
def names_of_functions(torch: Any) -> Any:
    functional = torch.nn.functional
    names = ("relu", "selu", "celu", "rrelu", "softmax", "log_softmax", "gelu", "linear")
    others = (torch.bernoulli, torch.norm, torch.det, torch.svd, torch.qr, torch.cross, torch.dropout)
    return [getattr(functional, name).__name__ for name in names], [f.__name__ for f in others]


@program
def functional_calls_with_wrong_values(torch: Any) -> Any:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
    call, x = torch.func.functional_call, torch.ones(1, 2)
    return attempt(lambda: call(net, {"0.weight": 3}, x)), attempt(lambda: call(net, {"0": torch.eye(2)}, x))


@program
def stacking_modules_that_differ_in_what_is_trained(torch: Any) -> Any:
    layers = [torch.nn.Linear(2, 2) for _ in range(2)]
    layers[0].weight.requires_grad_(False)
    return attempt(lambda: torch.func.stack_module_state(layers))


@program
def spectral_norm_notes_its_version(torch: Any) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    state = layer.state_dict()
    metadata = {key: dict(entry) for key, entry in state._metadata.items()}
    # As it was saved by the first version: no v, but the normalized weight.
    layer(torch.ones(1, 2))
    old = {key: value for key, value in state.items() if key != "weight_v"}
    old["weight"] = layer.weight.detach()
    other = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    loaded = repr(other.load_state_dict(old))
    incomplete = attempt(lambda: other.load_state_dict({k: v for k, v in old.items() if k != "weight"}))
    torch.nn.utils.remove_spectral_norm(layer)
    return metadata, loaded, other.weight_v.tolist(), incomplete, dict(layer.state_dict()._metadata[""])
