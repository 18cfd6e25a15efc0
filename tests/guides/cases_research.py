"""What the blocks of ``000_research.md`` must do."""

from __future__ import annotations

import os
import types
from typing import Any

from tests.guides.documents import Block
from tests.guides.registry import batches, case, classification, raises

DOCUMENT = "000_research"


def perceptron(torch: Any) -> Any:
    """Return a model with both layers that the blocks talk about: ``conv1`` and ``fc1``."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 4, 3)
            self.fc1 = torch.nn.Linear(4 * 6 * 6, 3)

        def forward(self, x: Any) -> Any:
            return self.fc1(torch.relu(self.conv1(x)).flatten(1))

    return Net()


@case(DOCUMENT, "standard-imports")
def gives_the_names(torch: Any, block: Block) -> None:
    names = block.run()
    assert names["F"] is names["nn"].functional
    assert names["dist"] is torch.distributed
    assert issubclass(names["DDP"], torch.nn.Module)
    assert issubclass(names["DistributedSampler"], torch.utils.data.Sampler)


@case(DOCUMENT, "custom-function")
def passes_the_gradient_through(torch: Any, block: Block) -> None:
    my_sign = block.run({"torch": torch})["my_sign"]
    x = torch.tensor([-2.0, 0.0, 0.5], requires_grad=True)
    y = my_sign(x)
    assert y.tolist() == [-1.0, 0.0, 1.0]
    assert "MySignFunction" in type(y.grad_fn).__name__
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


@case(DOCUMENT, "hooks")
def both_fire(torch: Any, block: Block) -> None:
    model = perceptron(torch)
    names = block.run({"torch": torch, "model": model})
    x = torch.randn(2, 1, 8, 8)
    assert names["activations"] == {}
    out = model(x)
    kept = names["activations"]["conv1"]
    assert kept.shape == (2, 4, 6, 6) and not kept.requires_grad
    assert torch.equal(kept, model.conv1(x))
    seen: list[float] = []
    names["print"] = lambda text: seen.append(float(text.rsplit(" ", 1)[1])) or print(text)
    (3 * out).sum().backward()
    assert len(seen) == 1 and abs(seen[0] - 3 * 6**0.5) < 1e-5


@case(DOCUMENT, "data-parallel")
def trains_in_two_processes(torch: Any, block: Block) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data.distributed import DistributedSampler

    model = torch.nn.Linear(4, 2)
    given = {
        "torch": torch,
        "dist": dist,
        "DDP": lambda module, device_ids: DistributedDataParallel(module),
        "DistributedSampler": DistributedSampler,
        "DataLoader": torch.utils.data.DataLoader,
        "MyModel": lambda: types.SimpleNamespace(to=lambda rank: model),
        "dataset": torch.utils.data.TensorDataset(torch.randn(64, 4)),
    }
    names = block.run(given)
    assert callable(names["mp"].spawn)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", GLOO_SOCKET_IFNAME="lo")
    names["setup"] = lambda rank, size: dist.init_process_group(
        "gloo", store=dist.HashStore(), rank=rank, world_size=size
    )
    names["train"](0, 1)
    assert not dist.is_initialized()


@case(DOCUMENT, "profiler")
def lists_the_operators(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch, "model": torch.nn.Linear(3, 2), "inputs": torch.randn(2, 3)})
    assert "model_inference" in block.output and "aten::linear" in block.output
    assert names["prof"].key_averages()


@case(DOCUMENT, "checkpointing")
def gives_the_same_gradients(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch, "nn": torch.nn})
    calls: list[int] = []

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            calls.append(1)
            return torch.tanh(self.fc(x))

    model = names["DeepModel"]()
    model.heavy_layer_1, model.heavy_layer_2 = Layer(), Layer()
    x = torch.randn(3, 4, requires_grad=True)
    model(x).sum().backward()
    assert len(calls) == 4, "each layer runs once forward and once again in backward"
    got = [x.grad.clone(), *(p.grad.clone() for p in model.parameters())]
    x.grad = None
    model.zero_grad()
    model.heavy_layer_2(model.heavy_layer_1(x)).sum().backward()
    for a, b in zip(got, [x.grad, *(p.grad for p in model.parameters())]):
        assert torch.allclose(a, b)


@case(DOCUMENT, "weight-initialization")
def initializes_linear_and_convolution(torch: Any, block: Block) -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(8, 16, 3),
        torch.nn.Flatten(),
        torch.nn.Linear(400, 200),
        torch.nn.ReLU(),
        torch.nn.Linear(200, 5, bias=False),
    )
    kept = model[0].bias.detach().clone()
    block.run({"torch": torch, "nn": torch.nn, "model": model})
    assert abs(model[2].weight.std().item() - (2 / 200) ** 0.5) < 2e-3
    assert model[2].bias.abs().max().item() == 0
    bound = (6 / (9 * (8 + 16))) ** 0.5
    assert 0.95 * bound < model[0].weight.abs().max().item() <= bound
    assert torch.equal(model[0].bias, kept)


@case(DOCUMENT, "gradient-clipping")
def clips_and_steps(torch: Any, block: Block) -> None:
    model = torch.nn.Linear(10, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = [p.detach().clone() for p in model.parameters()]
    loss = 100 * model(torch.randn(4, 10)).pow(2).sum()
    block.run({"torch": torch, "model": model, "loss": loss, "optimizer": optimizer})
    step = sum((p - b).pow(2).sum() for p, b in zip(model.parameters(), before)).sqrt().item()
    assert abs(step - 1) < 1e-4


@case(DOCUMENT, "one-cycle")
def rises_and_falls(torch: Any, block: Block) -> None:
    model = torch.nn.Linear(2, 1)
    rates: list[float] = []
    given = {"torch": torch, "model": model, "train_loader": [0] * 8}

    def train_batch() -> None:
        rates.append(given["optimizer"].param_groups[0]["lr"])
        given["optimizer"].step()

    given["train_batch"] = train_batch
    names = {"__name__": "__main__", **given}
    given = names
    loss = model(torch.randn(3, 2)).sum()
    loss.backward()
    exec(compile(block.source, block.id, "exec"), names)
    top = rates.index(max(rates))
    assert len(rates) == 80 and abs(rates[0] - 0.1 / 25) < 1e-12 and abs(max(rates) - 0.1) < 1e-4
    assert top in (23, 24), "the top is after 30 percent of the steps"
    assert rates[: top + 1] == sorted(rates[: top + 1]) and rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] < 1e-6
    with raises(ValueError, "Tried to step 81 times. The specified number of total steps is 80"):
        names["scheduler"].step()


@case(DOCUMENT, "in-place-error")
def breaks_backward(torch: Any, block: Block) -> None:
    block.run()
    w = torch.randn(3, requires_grad=True)
    x = torch.exp(w)
    x += 1
    with raises(
        RuntimeError,
        "one of the variables needed for gradient computation has been modified by an "
        "inplace operation: [torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; "
        "expected version 0 instead.",
    ):
        x.sum().backward()
    x = torch.exp(w)
    y = x + 1
    y.sum().backward()
    assert torch.equal(w.grad, x)


@case(DOCUMENT, "zero-grad-order")
def learns(torch: Any, block: Block) -> None:
    assert _trained(torch, block.source) < 0.1


@case(DOCUMENT, "zero-grad-order")
def never_learns_with_the_wrong_order(torch: Any, block: Block) -> None:
    lines = [line for line in block.source.splitlines() if not line.startswith("#")]
    zero, backward, step = lines
    model_before = _trained(torch, "\n".join([backward, zero, step]))
    assert model_before > 0.6


def _trained(torch: Any, source: str) -> float:
    """Train a classifier with the given order of the three calls; return its last loss."""
    inputs, targets = classification(torch, 64, 8, 2)
    model = torch.nn.Linear(8, 2, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    for data, target in batches(inputs, targets, 16) * 12:
        loss = torch.nn.functional.cross_entropy(model(data), target)
        exec(source, {"loss": loss, "optimizer": optimizer})
    return float(torch.nn.functional.cross_entropy(model(inputs), targets))
