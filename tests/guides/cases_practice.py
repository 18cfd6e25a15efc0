"""What the blocks of ``001_practice.md`` must do."""

from __future__ import annotations

import os
from typing import Any

from tests.guides.documents import Block
from tests.guides.registry import batches, case, classification, raises

DOCUMENT = "001_practice"


def model_class(torch: Any) -> Any:
    """Return the ``Model`` that the document defines."""
    from tests.guides.documents import read

    return read(DOCUMENT)["module-pattern"].run({"torch": torch})["Model"]


@case(DOCUMENT, "tensors")
def makes_and_reshapes(torch: Any, block: Block) -> None:
    names = block.run()
    x, y = names["x"], names["y"]
    assert names["device"].type == "cpu" and x.dtype == torch.float32 and x.shape == (3, 4)
    assert y.shape == (2, 6) and torch.equal(y.reshape(3, 4), x)
    assert y.data_ptr() == x.data_ptr(), "view shares memory"


@case(DOCUMENT, "autograd")
def differentiates_and_stops(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch, "model": lambda x: x * 3})
    x = names["x"]
    assert torch.equal(x.grad, 2 * x.detach())
    assert block.output == f"{x.grad}\n"
    assert names["pred"].is_inference() and not names["pred"].requires_grad
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        names["pred"].sum().backward()


@case(DOCUMENT, "module-pattern")
def builds_and_drops_out(torch: Any, block: Block) -> None:
    model = block.run({"torch": torch})["Model"](5, 7, 3)
    assert [name for name, _ in model.named_parameters()] == [
        "fc1.weight",
        "fc1.bias",
        "fc2.weight",
        "fc2.bias",
    ]
    x = torch.randn(64, 5)
    assert model(x).shape == (64, 3) and not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))
    assert repr(model) == (
        "Model(\n  (fc1): Linear(in_features=5, out_features=7, bias=True)\n"
        "  (fc2): Linear(in_features=7, out_features=3, bias=True)\n"
        "  (dropout): Dropout(p=0.1, inplace=False)\n)"
    )


@case(DOCUMENT, "common-layers")
def each_layer_computes(torch: Any, block: Block) -> None:
    made: list[Any] = []

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            def make(*args: Any, **kwargs: Any) -> Any:
                made.append(getattr(torch.nn, name)(*args, **kwargs))

            return make

    block.run(
        {
            "nn": Recorder(),
            "in_channels": 3,
            "out_channels": 8,
            "num_features": 8,
            "normalized_shape": [4, 6],
            "embed_dim": 8,
            "num_heads": 2,
            "input_size": 5,
            "hidden_size": 6,
            "num_layers": 2,
        }
    )
    convolution, batch_norm, layer_norm, attention, lstm, gru = made
    image = convolution(torch.randn(2, 3, 4, 6))
    assert image.shape == (2, 8, 4, 6)
    normal = layer_norm(batch_norm(image))
    assert abs(normal.mean().item()) < 1e-5 and abs(normal.std().item() - 1) < 1e-2
    q = torch.randn(5, 2, 8)
    mixed, weights = attention(q, q, q)
    assert mixed.shape == q.shape and weights.shape == (2, 5, 5)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 5))
    for layer in (lstm, gru):
        out, state = layer(torch.randn(2, 7, 5))
        hidden = state[0] if isinstance(state, tuple) else state
        assert out.shape == (2, 7, 6) and hidden.shape == (2, 2, 6)
        assert torch.allclose(out[:, -1], hidden[-1])


@case(DOCUMENT, "weight-initialization")
def initializes_linear_and_embedding(torch: Any, block: Block) -> None:
    model = torch.nn.Sequential(torch.nn.Embedding(100, 50), torch.nn.Linear(50, 20), torch.nn.LayerNorm(20))
    block.run({"torch": torch, "nn": torch.nn, "model": model})
    bound = (6 / 70) ** 0.5
    assert 0.95 * bound < model[1].weight.abs().max().item() <= bound
    assert model[1].bias.abs().max().item() == 0 and abs(model[0].weight.std().item() - 0.02) < 1e-3


def supervised(torch: Any, **more: Any) -> dict[str, Any]:
    """Return the names that the document's training blocks presume."""
    inputs, targets = classification(torch, 128, 10, 3)
    model = model_class(torch)(10, 32, 3)
    return {
        "torch": torch,
        "nn": torch.nn,
        "train_loader": batches(inputs, targets, 16),
        "device": torch.device("cpu"),
        "model": model,
        "inputs": inputs,
        "targets": targets,
        "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-2),
        "criterion": torch.nn.CrossEntropyLoss(),
        **more,
    }


def accuracy(model: Any, inputs: Any, targets: Any) -> float:
    """Return the share of right classes."""
    return float((model.eval()(inputs).argmax(1) == targets).float().mean())


@case(DOCUMENT, "training-loop")
def learns(torch: Any, block: Block) -> None:
    data = supervised(torch)
    given = {
        "torch": torch,
        "nn": torch.nn,
        "Model": model_class(torch),
        "input_dim": 10,
        "hidden_dim": 64,
        "output_dim": 3,
        "device": data["device"],
        "num_epochs": 20,
        "train_loader": data["train_loader"],
        "val_loader": data["train_loader"],
    }
    names = block.run(given, completed_with="            pass\n")
    assert not names["model"].training
    assert accuracy(names["model"], data["inputs"], data["targets"]) > 0.75
    assert abs(names["optimizer"].param_groups[0]["lr"]) < 1e-12, "the cosine has come down to zero"
    assert names["loss"].item() < 0.8


@case(DOCUMENT, "mixed-precision")
def learns_with_the_scaler_off(torch: Any, block: Block) -> None:
    given = supervised(torch)
    for _ in range(6):
        names = block.run(given)
    assert not names["scaler"].is_enabled() and names["scaler"].get_scale() == 1.0
    assert names["outputs"].dtype == torch.float32
    assert accuracy(given["model"], *(names[n] for n in ("inputs", "targets"))) > 0.7


@case(DOCUMENT, "gradient-accumulation")
def equals_one_large_batch(torch: Any, block: Block) -> None:
    from torch.cuda.amp import GradScaler, autocast

    given = supervised(torch, autocast=autocast, scaler=GradScaler())
    given["model"].eval()
    given["optimizer"] = torch.optim.SGD(given["model"].parameters(), lr=0.5)
    other = model_class(torch)(10, 32, 3).eval()
    other.load_state_dict(given["model"].state_dict())
    whole, labels = given["inputs"], given["targets"]
    block.run(given)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.5)
    for half in (slice(0, 64), slice(64, 128)):
        optimizer.zero_grad()
        given["criterion"](other(whole[half]), labels[half]).backward()
        optimizer.step()
    for a, b in zip(given["model"].parameters(), other.parameters()):
        assert torch.allclose(a, b, atol=1e-6) and a.grad is None


@case(DOCUMENT, "data-loader")
def serves_batches_from_workers(torch: Any, block: Block) -> None:
    given: dict[str, Any] = {"torch": torch}
    definition = block.source.split("train_loader =")[0]
    exec(definition, given)
    dataset = given["CustomDataset"](
        torch.arange(70.0).reshape(70, 1), torch.arange(70), transform=lambda x: x * 2
    )
    assert len(dataset) == 70 and dataset[3][0].item() == 6
    loader = block.run({**given, "dataset": dataset})["train_loader"]
    assert len(loader) == 2
    served = list(loader)
    assert [x.shape for x, _ in served] == [(32, 1), (32, 1)]
    labels = torch.cat([y for _, y in served])
    assert len(set(labels.tolist())) == 64 and labels.tolist() != sorted(labels.tolist())
    assert torch.equal(torch.cat([x for x, _ in served])[:, 0], 2.0 * labels)


@case(DOCUMENT, "collate")
def pads_sequences(torch: Any, block: Block) -> None:
    dataset = [(torch.ones(n), torch.tensor(n)) for n in (2, 4, 3)]
    names = block.run(
        {"torch": torch, "nn": torch.nn, "dataset": dataset, "DataLoader": torch.utils.data.DataLoader}
    )
    assert [(x.tolist(), y.tolist()) for x, y in names["loader"]] == [([[1.0] * n], [n]) for n in (2, 4, 3)]
    inputs, targets = names["collate_fn"](dataset)
    assert inputs.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]] and targets.tolist() == [2, 4, 3]


@case(DOCUMENT, "compile")
def computes_the_same(torch: Any, block: Block) -> None:
    compiler = torch.compile
    torch.compile = lambda *args, **kwargs: compiler(
        *args, **{k: v for k, v in kwargs.items() if k not in ("backend", "mode")}, backend="eager"
    )
    try:
        model = torch.nn.Linear(3, 2)
        names = block.run({"torch": torch, "model": model, "criterion": torch.nn.functional.mse_loss})
        x, y = torch.randn(4, 3), torch.randn(4, 2)
        assert torch.equal(names["model"](x), model(x))
        loss = names["train_step"](model, x, y)
    finally:
        torch.compile = compiler
    assert torch.equal(loss, torch.nn.functional.mse_loss(model(x), y))


@case(DOCUMENT, "memory")
def checkpoints_and_reports_no_gpu_memory(torch: Any, block: Block) -> None:
    model = block.run({"torch": torch, "nn": torch.nn})["Model"]()
    assert block.output == "0.0 GB\n0.0 GB\n"
    calls: list[int] = []
    model.expensive_layer = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5))
    model.output_layer = torch.nn.Linear(8, 1)
    model.expensive_layer.register_forward_pre_hook(lambda *_: calls.append(1))
    x = torch.randn(5, 3)
    torch.manual_seed(7)
    model(x).sum().backward()
    assert len(calls) == 2
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(7)
    model.output_layer(model.expensive_layer(x)).sum().backward()
    assert all(torch.allclose(a, p.grad) for a, p in zip(got, model.parameters())), (
        "the mask was drawn again alike"
    )


@case(DOCUMENT, "data-parallel")
def trains_in_one_process(torch: Any, block: Block) -> None:
    given = {
        "torch": torch,
        "num_epochs": 2,
        "DataLoader": torch.utils.data.DataLoader,
        "dataset": list(range(8)),
        "Model": lambda: torch.nn.Linear(2, 2),
    }
    names = block.run(given)
    dist = names["dist"]
    wrapper, sampler = names["DDP"], names["DistributedSampler"]
    names["DDP"] = lambda model, device_ids: wrapper(model)
    names["Model"] = lambda: type("OnCpu", (), {"to": staticmethod(lambda rank: torch.nn.Linear(2, 2))})
    names["setup"] = lambda rank, size: dist.init_process_group(
        "gloo", store=dist.HashStore(), rank=rank, world_size=size
    )
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    names["train"](0, 1)
    assert not dist.is_initialized()
    assert list(sampler(list(range(8)), num_replicas=2, rank=1, shuffle=False)) == [1, 3, 5, 7]


@case(DOCUMENT, "fully-sharded")
def wraps_the_model(torch: Any, block: Block) -> None:
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        try:
            names = block.run({"torch": torch, "model": torch.nn.Linear(4, 4)})
            assert isinstance(names["model"], torch.nn.Module)
        except (RuntimeError, AssertionError) as error:
            assert "accelerator" in str(error) or "CUDA" in str(error), error
    finally:
        dist.destroy_process_group()


@case(DOCUMENT, "checkpoints")
def restores_model_and_optimizer(torch: Any, block: Block) -> None:
    data = supervised(torch, epoch=3)
    model, optimizer = data["model"].eval(), data["optimizer"]

    def step() -> Any:
        optimizer.zero_grad()
        loss = data["criterion"](model(data["inputs"]), data["targets"])
        loss.backward()
        optimizer.step()
        return loss

    data["loss"] = step()
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    names = block.run(data)
    assert names["checkpoint"]["epoch"] == 3 and names["checkpoint"]["loss"].requires_grad
    assert torch.equal(names["checkpoint"]["loss"], data["loss"])
    following = step().item()
    assert not torch.equal(saved["fc1.weight"], model.fc1.weight)
    checkpoint = torch.load("checkpoint.pt", map_location="cpu")
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    assert all(torch.equal(saved[name], value) for name, value in model.state_dict().items())
    assert step().item() == following
    assert next(iter(optimizer.state.values()))["step"].item() == 2


@case(DOCUMENT, "export")
def saves_a_script(torch: Any, block: Block) -> None:
    torch.onnx.export = lambda *args, **kwargs: None  # its own package is needed for this half
    model = torch.nn.Linear(3, 2)
    block.run({"torch": torch, "model": model, "dummy_input": torch.randn(1, 3)})
    x = torch.randn(4, 3)
    assert torch.equal(torch.jit.load("model.pt")(x), model(x))


@case(DOCUMENT, "deterministic")
def repeats_the_numbers(torch: Any, block: Block) -> None:
    block.run({"torch": torch})
    first = torch.randn(5)
    block.run({"torch": torch})
    assert torch.equal(first, torch.randn(5))
    assert torch.allclose(first[:3], torch.tensor([0.336690, 0.128809, 0.234462]), atol=1e-6)
    assert torch.backends.cudnn.deterministic is True and torch.backends.cudnn.benchmark is False
