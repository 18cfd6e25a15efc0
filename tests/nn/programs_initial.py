"""Initial values and the random numbers they take."""

from __future__ import annotations

import warnings
from typing import Any

from .program import program


@program
def initialisers(torch: Any) -> Any:
    init, log = torch.nn.init, []
    torch.manual_seed(0)
    for fill in (
        init.uniform_,
        init.normal_,
        init.trunc_normal_,
        init.ones_,
        init.zeros_,
        init.xavier_uniform_,
        init.xavier_normal_,
        init.kaiming_uniform_,
        init.kaiming_normal_,
        init.orthogonal_,
        lambda t: init.constant_(t, 0.3),
        lambda t: init.sparse_(t[:, :, 0], 0.4),
        lambda t: init.eye_(t[:, :, 0]),
        lambda t: init.dirac_(t, 2),
        lambda t: init.trunc_normal_(t, 1.0, 2.0, 0.5, 1.5),
        lambda t: init.kaiming_normal_(t, 0.1, "fan_out", "relu"),
        lambda t: init.orthogonal_(t[:2], gain=2.0),
        lambda t: init.uniform_(t, -3, 2),
        lambda t: init.normal_(t, 1, 2),
        lambda t: init.xavier_uniform_(t, 1.7),
    ):
        tensor = torch.zeros(4, 3, 2)
        log.append([[round(v, 4) for v in fill(tensor).reshape(-1).tolist()], tensor.requires_grad])
    log.append(
        [
            init.calculate_gain(n)
            for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu")
        ]
    )
    log.append(init.calculate_gain("leaky_relu", 0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        init.kaiming_uniform_(torch.zeros(0, 3))
        init.uniform(torch.zeros(2))
        log.append([(w.category.__name__, str(w.message)) for w in caught])
    return log


@program
def initial_values_follow_the_seed(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(3)
    layers = [
        nn.Linear(3, 2),
        nn.Conv2d(2, 4, 3, groups=2),
        nn.Embedding(3, 2, padding_idx=0),
        nn.LSTM(2, 3, 2),
        nn.GRUCell(2, 3),
        nn.Bilinear(2, 2, 2),
        nn.MultiheadAttention(4, 2, add_bias_kv=True),
        nn.EmbeddingBag(3, 2),
    ]
    rest = [round(v, 5) for v in torch.rand(3).tolist()]
    return [
        [[round(v, 5) for v in p.reshape(-1).tolist()] for p in layer.parameters()] for layer in layers
    ], rest
