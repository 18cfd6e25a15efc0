"""Sequences, clipping, vectors, fusion, functional calls and parametrizations."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

from .program import attempt, net, program, values


@program
def sequences(torch: Any) -> Any:
    rnn = torch.nn.utils.rnn
    a, b, c = torch.arange(6.0).view(3, 2), torch.ones(1, 2), torch.zeros(2, 2)
    packed = rnn.pack_sequence([b, a, c], enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=-1.0, total_length=5)
    log: list[Any] = [
        [None if t is None else t.tolist() for t in packed],
        padded.tolist(),
        lengths.tolist(),
        repr(packed),
    ]
    log.append([t.tolist() for t in rnn.unpack_sequence(packed)])
    log.append([t.tolist() for t in rnn.unpad_sequence(rnn.pad_sequence([a, b]), torch.tensor([3, 1]))])
    log.append(rnn.pad_sequence([a, b, c], batch_first=True, padding_value=9.0, padding_side="left").tolist())
    log.append([str(packed.to(torch.float64).data.dtype), packed.to(torch.float32) is packed, packed.is_cuda])
    leaf = torch.ones(3, 2, requires_grad=True)
    rnn.pad_packed_sequence(rnn.pack_padded_sequence(leaf, [3, 1]))[0].mul(
        torch.arange(6.0).view(3, 2)
    ).sum().backward()
    log.append(leaf.grad.tolist())
    x = torch.zeros(3, 2)
    for action in (
        lambda: rnn.pack_padded_sequence(x, [1, 2]),
        lambda: rnn.pack_padded_sequence(x, [3]),
        lambda: rnn.pack_padded_sequence(x, [3, 0]),
        lambda: rnn.pack_padded_sequence(torch.zeros(0, 2), [1, 1]),
        lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [2, 1]), total_length=1),
        lambda: rnn.pad_sequence([]),
        lambda: rnn.pad_sequence(3),
        lambda: rnn.pad_sequence([x], padding_side="x"),
        lambda: rnn.pad_sequence(x).tolist(),
        lambda: rnn.pack_padded_sequence(x, torch.tensor([[3, 1]])),
    ):
        log.append(repr(attempt(action)))
    return log


@program
def gradient_clipping(torch: Any) -> Any:
    utils, log = torch.nn.utils, []

    def fresh(*grads: Any) -> list[Any]:
        found = []
        for grad in grads:
            parameter = torch.nn.Parameter(torch.zeros(2))
            parameter.grad = None if grad is None else torch.tensor(grad)
            found.append(parameter)
        return found

    for norm in (2.0, 1, float("inf")):
        some = fresh([3.0, 4.0], None, [0.0, 12.0])
        total = utils.clip_grad_norm_(iter(some), 1.0, norm)
        log.append(
            [
                round(total.item(), 4),
                [[round(v, 5) for v in p.grad.tolist()] for p in some if p.grad is not None],
            ]
        )
    one = fresh([3.0, 4.0])[0]
    utils.clip_grad_value_(one, 3.5)
    log.append(one.grad.tolist())
    log.append(utils.clip_grad_norm_([], 1.0).item())
    log.append(
        attempt(lambda: utils.clip_grad_norm_(fresh([float("nan"), 0.0]), 1.0, error_if_nonfinite=True))
    )
    log.append(utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])]).item())
    return log


@program
def vectors_and_fusion(torch: Any) -> Any:
    utils, model = torch.nn.utils, net(torch)
    vector = utils.parameters_to_vector(model.parameters())
    utils.vector_to_parameters(torch.arange(float(vector.numel())), model.parameters())
    log: list[Any] = [vector.shape == (vector.numel(),), values(model.state_dict())]
    conv, norm = torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3)
    x = torch.arange(32.0).view(1, 2, 4, 4) / 32
    norm(conv(x))
    log.append(attempt(lambda: utils.fuse_conv_bn_eval(conv, norm)))
    conv.eval(), norm.eval()
    log.append(torch.allclose(utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5))
    up = torch.nn.ConvTranspose2d(2, 3, 2, bias=False).eval()
    log.append(torch.allclose(utils.fuse_conv_bn_eval(up, norm, transpose=True)(x), norm(up(x)), atol=1e-5))
    torch.manual_seed(0)
    log.append([tuple(utils.skip_init(torch.nn.Linear, 2, 3).weight.shape), round(torch.rand(1).item(), 5)])
    log.append(attempt(lambda: utils.skip_init(torch.nn.ReLU)))
    return log


@program
def stateless_calls(torch: Any) -> Any:
    call = torch.nn.utils.stateless.functional_call
    layer = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1))
    weight = torch.full((1, 1), 3.0, requires_grad=True)
    given = {"0.weight": weight, "1.weight": torch.ones(1, 1), "1.bias": torch.zeros(1)}
    kept = layer[0].weight
    out = call(layer, given, torch.ones(1))
    out.sum().backward()
    log = [out.item(), weight.grad.tolist(), layer[0].weight is kept, kept.grad]
    tied = torch.nn.Module()
    tied.a = tied.b = layer[0]
    log.append(attempt(lambda: call(tied, {"a.weight": weight, "b.weight": torch.zeros(1, 1)})))
    log.append(attempt(lambda: call(layer, {"0.weightx": weight}, torch.ones(1), strict=True)))
    log.append(attempt(lambda: call(layer, {"0.weight": weight}, torch.ones(1), strict=True)))
    norm = torch.nn.BatchNorm1d(1)
    buffers = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    call(norm, buffers, torch.tensor([[1.0], [3.0]]))
    log.append(
        [
            round(buffers["running_mean"].item(), 4),
            buffers["num_batches_tracked"].item(),
            norm.running_mean.item(),
        ]
    )
    return log


@program
def weight_and_spectral_norm(torch: Any) -> Any:
    nn, log = torch.nn, []

    def show(layer: Any, x: Any) -> None:
        layer(x).sum().backward()
        log.append(
            [
                repr(layer),
                {n: [round(v, 4) for v in t.reshape(-1).tolist()] for n, t in layer.state_dict().items()},
            ]
        )
        log.append([[round(v, 4) for v in p.grad.reshape(-1).tolist()] for p in layer.parameters()])

    x = torch.tensor([[1.0, 2.0, 3.0]])
    for make, remove in (
        (nn.utils.weight_norm, nn.utils.remove_weight_norm),
        (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
        (nn.utils.parametrizations.weight_norm, nn.utils.parametrize.remove_parametrizations),
        (nn.utils.parametrizations.spectral_norm, nn.utils.parametrize.remove_parametrizations),
    ):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = make(nn.Linear(3, 2))
        show(layer, x)
        remove(layer, "weight")
        layer.zero_grad()
        show(layer, x)
    torch.manual_seed(0)
    conv = nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(3, 2, 2), n_power_iterations=3)
    show(conv, torch.ones(1, 3, 4))
    return log


@program
def parametrizations(torch: Any) -> Any:
    nn, tools = torch.nn, torch.nn.utils.parametrize

    class Doubled(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, x: Any) -> Any:
            return x / 2

    class Shifted(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(3.0)
    log: list[Any] = [tools.is_parametrized(layer)]
    tools.register_parametrization(layer, "weight", Doubled())
    log.append([layer.weight.item(), layer.parametrizations.weight.original.item(), repr(layer)])
    layer.weight = torch.tensor([[8.0]])
    log.append([layer.weight.item(), layer.parametrizations.weight.original.item()])
    tools.register_parametrization(layer, "weight", Shifted())
    log.append([layer.weight.item(), list(layer.state_dict()), tools.is_parametrized(layer, "weight")])
    log.append(attempt(lambda: setattr(layer, "weight", torch.ones(1, 1))))
    log.append(tools.type_before_parametrizations(layer).__name__)
    other = copy.deepcopy(layer)
    log.append([other.weight.item(), type(other).__name__])
    with tools.cached():
        log.append(layer.weight is layer.weight)
    log.append(layer.weight is layer.weight)
    tools.remove_parametrizations(layer, "weight")
    log.append(
        [layer.weight.item(), type(layer).__name__, type(layer.weight).__name__, list(layer.state_dict())]
    )
    log.append(attempt(lambda: tools.register_parametrization(layer, "zz", Shifted())))
    log.append(attempt(lambda: pickle.dumps(other)))
    return log
