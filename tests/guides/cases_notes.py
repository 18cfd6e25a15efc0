"""What the blocks of ``002_notes.md`` must do."""

from __future__ import annotations

from typing import Any

from tests.guides.documents import Block, read
from tests.guides.registry import NO_CUDA, batches, case, classification, cuda_is_here, raises

DOCUMENT = "002_notes"


def perceptron(torch: Any) -> Any:
    """Return the ``MLP`` that the document defines."""
    return read(DOCUMENT)["model"].run({"torch": torch})["MLP"]


@case(DOCUMENT, "tensors")
def asks_for_a_gpu(torch: Any, block: Block) -> None:
    with raises(AssertionError, NO_CUDA):
        block.run()


@case(DOCUMENT, "autograd")
def differentiates_scalars(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch})
    assert names["c"].item() == 9 and block.output == "tensor(3.) tensor(3.)\n"


@case(DOCUMENT, "model")
def computes(torch: Any, block: Block) -> None:
    model = block.run({"torch": torch})["MLP"](4, 8, 2)
    assert model(torch.randn(5, 4)).shape == (5, 2)
    assert list(model.state_dict()) == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]


@case(DOCUMENT, "training-loop")
def asks_for_a_gpu_at_once(torch: Any, block: Block) -> None:
    with raises(AssertionError, NO_CUDA):
        block.run({"torch": torch, "nn": torch.nn, "MLP": perceptron(torch), "loader": []})


@case(DOCUMENT, "training-loop")
def learns_where_cuda_does_nothing(torch: Any, block: Block) -> None:
    inputs, targets = classification(torch, 128, 100, 10)
    given = {
        "torch": torch,
        "nn": torch.nn,
        "MLP": perceptron(torch),
        "loader": batches(inputs, targets, 32) * 30,
    }
    with cuda_is_here(torch):
        names = block.run(given)
    assert names["step"] == 119 and names["loss"].item() < 0.3


@case(DOCUMENT, "data-loader")
def serves_collated_batches(torch: Any, block: Block) -> None:
    loader = block.run({"torch": torch})["loader"]
    assert len(loader) == 32
    served = list(loader)
    assert [x.shape[0] for x, _ in served] == [32] * 31 + [8]
    x, y = served[0]
    assert x.shape == (32, 100) and x.dtype == torch.float32
    assert y.shape == (32,) and y.dtype == torch.int64 and 0 <= y.min().item() and y.max().item() <= 9


@case(DOCUMENT, "data-loader")
def repeats_with_the_same_seed(torch: Any, block: Block) -> None:
    served = []
    for _ in range(2):
        torch.manual_seed(11)
        loader = block.run({"torch": torch})["loader"]
        x, y = next(iter(loader))
        served.append((x.clone(), y.clone()))
    assert torch.equal(served[0][0], served[1][0]) and torch.equal(served[0][1], served[1][1])


@case(DOCUMENT, "mixed-precision")
def learns_with_amp_off(torch: Any, block: Block) -> None:
    inputs, targets = classification(torch, 64, 10, 3)
    model = perceptron(torch)(10, 32, 3)
    given = {
        "torch": torch,
        "model": model,
        "criterion": torch.nn.CrossEntropyLoss(),
        "loader": batches(inputs, targets, 16) * 8,
        "opt": torch.optim.Adam(model.parameters(), lr=1e-2),
    }
    with cuda_is_here(torch):
        first = given["criterion"](model(inputs), targets).item()
        names = block.run(given)
    assert names["loss"].item() < first / 2 and all(p.grad is None for p in model.parameters())


@case(DOCUMENT, "compile")
def computes_the_same(torch: Any, block: Block) -> None:
    import functools

    compiler = torch.compile
    torch.compile = functools.partial(compiler, backend="eager")
    try:
        model = torch.nn.Linear(3, 2)
        x = torch.randn(4, 3)
        assert torch.equal(block.run({"torch": torch, "model": model})["model"](x), model(x))
    finally:
        torch.compile = compiler


@case(DOCUMENT, "memory-summary")
def has_nothing_to_sum_up(torch: Any, block: Block) -> None:
    with raises(KeyError, "allocated_bytes.all.current"):
        block.run({"torch": torch})


@case(DOCUMENT, "save-and-load")
def saves_then_asks_for_a_gpu(torch: Any, block: Block) -> None:
    model = torch.nn.Linear(3, 2)
    with raises(
        RuntimeError,
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
        "False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU.",
    ):
        block.run({"torch": torch, "model": model})
    state = torch.load("m.pt", map_location=torch.device("cpu"))
    assert list(state) == ["weight", "bias"] and torch.equal(state["weight"], model.weight)
