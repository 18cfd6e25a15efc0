"""The orthogonal parametrization: values, gradients, assignment, errors."""

from __future__ import annotations

from typing import Any

from .program import attempt, program, values


@program
def orthogonal_maps(torch: Any) -> Any:
    log: list[Any] = []
    orthogonal = torch.nn.utils.parametrizations.orthogonal
    for shape in ((3, 3), (5, 3), (3, 5), (1, 4)):
        for kind in (None, "matrix_exp", "cayley", "householder"):
            for trivial in (True, False):
                torch.manual_seed(0)
                layer = orthogonal(torch.nn.Linear(*shape), orthogonal_map=kind, use_trivialization=trivial)
                count = torch.arange(1.0, 1 + layer.weight.numel()).view_as(layer.weight) / 10
                (layer.weight * count).sum().backward()
                original = layer.parametrizations.weight.original
                log.append([values(layer.state_dict()), layer.weight.tolist(), original.grad.tolist()])
                with torch.no_grad():
                    original.add_(count)
                log.append([layer.weight.tolist(), str(torch.rand(1).item())[:6]])

                def assign(layer: Any = layer, count: Any = count, original: Any = original) -> Any:
                    layer.weight = torch.nn.init.orthogonal_(count.clone())
                    return layer.weight.tolist(), original.tolist()

                log.append(attempt(assign))
                log.append(attempt(lambda layer=layer: setattr(layer, "weight", torch.ones(2, 2))))
    return log


@program
def orthogonal_edges(torch: Any) -> Any:
    nn, orthogonal = torch.nn, torch.nn.utils.parametrizations.orthogonal
    log: list[Any] = [
        attempt(lambda: orthogonal(nn.Linear(2, 2), orthogonal_map="x")),
        attempt(lambda: orthogonal(nn.Linear(2, 2), "zz")),
        attempt(lambda: orthogonal(nn.Linear(2, 2), "bias")),
        attempt(lambda: orthogonal(nn.Linear(2, 3, dtype=torch.complex64), orthogonal_map="householder")),
    ]
    for kind in (None, "matrix_exp", "cayley", "householder"):
        module = nn.Module()
        torch.manual_seed(1)
        module.weight = nn.Parameter(torch.randn(2, 3, 2))
        log.append(orthogonal(module, orthogonal_map=kind).weight.tolist())
    exact = nn.Linear(3, 3)
    exact.weight.data = torch.tensor([[0, 1.0, 0], [1, 0, 0], [0, 0, 1]])
    log.append(orthogonal(exact, orthogonal_map="householder", use_trivialization=False).weight.tolist())
    torch.manual_seed(0)
    log.append(torch.view_as_real(orthogonal(nn.Linear(3, 2, dtype=torch.complex64)).weight).tolist())
    one, other = orthogonal(nn.Linear(5, 3)), orthogonal(nn.Linear(5, 3))
    other.load_state_dict(one.state_dict())
    log.append(torch.equal(one.weight, other.weight))
    torch.nn.utils.parametrize.remove_parametrizations(other, "weight")
    log.append([torch.equal(one.weight, other.weight), list(other.state_dict())])
    return log


@program
def parametrization_without_an_inverse(torch: Any) -> Any:
    tools, log = torch.nn.utils.parametrize, []

    class Doubled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, x: Any) -> Any:
            raise NotImplementedError("none")

    for unsafe in (False, True):
        layer = torch.nn.Linear(1, 1, bias=False)
        layer.weight.data.fill_(3.0)
        tools.register_parametrization(layer, "weight", Doubled(), unsafe=unsafe)
        log.append(layer.weight.item())
        tools.register_parametrization(layer, "weight", Doubled(), unsafe=unsafe)
        log.append(layer.weight.item())
        log.append(attempt(lambda layer=layer: setattr(layer, "weight", torch.ones(1, 1))))
    return log
