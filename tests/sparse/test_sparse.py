"""Sparse tensors do what PyTorch does: values, repr, flags, errors, gradients, files, optimizers."""

from __future__ import annotations

import copy
import io
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import flambeau

from .cases import EMBEDDINGS, EXPRESSIONS, GRADIENTS, SETUP, outcome

FACTS: dict[str, str] = json.loads(Path(__file__).with_name("facts.json").read_text())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(torch: ModuleType, expression: str) -> None:
    assert outcome(torch, expression) == FACTS[expression]


@pytest.mark.parametrize("name", [*GRADIENTS, *EMBEDDINGS])
def test_gradients(torch: ModuleType, name: str) -> None:
    program = {**GRADIENTS, **EMBEDDINGS}[name]
    assert outcome(torch, program) == FACTS[program]


@pytest.mark.oracle
def test_facts_are_pytorchs(oracle: ModuleType) -> None:
    assert {program: outcome(oracle, program) for program in FACTS} == FACTS


def made(torch: ModuleType, name: str) -> Any:
    names: dict[str, Any] = {"torch": torch}
    exec(SETUP, names)
    return names[name]


@pytest.mark.parametrize("name", ["s", "c", "h", "r"])
def test_copies_and_files(torch: ModuleType, name: str) -> None:
    x = made(torch, name)
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    for again in (torch.load(file)["x"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert repr(again) == repr(x)
        assert name == "r" or again.is_coalesced() == x.is_coalesced()


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")     # PyTorch says that they are new
@pytest.mark.parametrize("name", ["s", "c", "h", "r"])
def test_files_of_pytorch(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    for writer, reader in ((torch, oracle), (oracle, torch)):
        file = io.BytesIO()
        x = made(writer, name)
        writer.save([x, x.to_dense()], file)
        file.seek(0)
        assert repr(reader.load(file)[0]) == repr(x)


def test_hostile_file(torch: ModuleType) -> None:
    x = made(torch, "s")
    x._indices()[0, 0] = 7  # shares memory with the tensor
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0"):
        torch.load(file)


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.5}),
    ("SGD", {"lr": 0.5, "momentum": 0.9}),
    ("SGD", {"lr": 0.5, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.5, "momentum": 0.9, "dampening": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.5, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.5, "fused": True}),
    ("Adagrad", {"lr": 0.3}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("Adagrad", {"lr": 0.3, "maximize": True}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("SparseAdam", {"lr": 0.05}),
    ("SparseAdam", {"lr": 0.05, "maximize": True, "betas": (0.8, 0.9)}),
    *[(name, {}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adadelta", "ASGD",
                              "Rprop", "Adafactor")],
]


def trajectory(torch: ModuleType, name: str, options: dict[str, Any], layer: str) -> list[Any]:
    """The losses and sums of a little training: a sparse table and a dense layer."""
    torch.manual_seed(0)
    table = getattr(torch.nn, layer)(50, 8, sparse=True)
    dense = torch.nn.Linear(8, 3)
    if name == "SparseAdam":
        optimizers = [torch.optim.SparseAdam(list(table.parameters()), **options),
                      torch.optim.SGD(dense.parameters(), 0.1)]
    else:
        both = [*table.parameters(), *dense.parameters()]
        optimizers = [getattr(torch.optim, name)(both, **options)]
    found = []
    for step in range(9):
        x, y = torch.randint(0, 50, (6, 5)), torch.randint(0, 3, (6,))
        rows = table(x) if layer == "EmbeddingBag" else table(x).mean(1)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=step % 3 != 0)
        loss = torch.nn.functional.cross_entropy(dense(rows), y)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            if step == 5:
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        found.append(loss.item())
    return [*found, *[p.sum().item() for p in (*table.parameters(), *dense.parameters())]]


def trained(torch: ModuleType, *arguments: Any) -> Any:
    try:
        return pytest.approx(trajectory(torch, *arguments), rel=2e-5, abs=2e-5)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")     # which PyTorch says once in a process
@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_trajectories(torch: ModuleType, oracle: ModuleType, name: str, options: dict[str, Any],
                      layer: str) -> None:
    ours, theirs = (trained(framework, name, options, layer) for framework in (torch, oracle))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        assert ours.expected == theirs


def test_functions_of_a_dense_program_do_not_ask(run_script: Any, tmp_path: Path) -> None:
    """They do when the first sparse tensor is made, and are the same functions still."""
    script = tmp_path / "script.py"
    script.write_text("import torch\nadd = torch.add\ntorch.eye(2) @ torch.eye(2)\n"
                      "assert not hasattr(add, '_dispatches')\ntorch.eye(2).to_sparse()\n"
                      "assert hasattr(add, '_dispatches')\nassert torch.add is add\n")
    assert run_script(script).returncode == 0


def test_second_derivatives(torch: ModuleType) -> None:
    places = made(torch, "i")
    values = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
    dense = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()

    def product(values: Any, dense: Any) -> Any:
        return torch.sparse.mm(torch.sparse_coo_tensor(places, values, (2, 3)), dense).sin()
    assert torch.autograd.gradcheck(product, (values, dense))
    assert torch.autograd.gradgradcheck(product, (values, dense))


def test_the_older_way_to_make_a_tensor_of_the_same_type() -> None:
    x = flambeau.eye(3).to_sparse()
    assert x.new().shape == (0,) and x.new(2, 3).shape == (2, 3)
    assert x.new(flambeau.Size((2, 3))).shape == (2, 3)
    same = x.new(x._indices(), x._values(), (4, 4))
    assert same.shape == (4, 4) and same._nnz() == 3
    assert x.new().resize_as_(x).shape == (3, 3)
    with pytest.raises(TypeError, match="only accepts sizes"):
        x.new([1, 2])
    with pytest.raises(NotImplementedError, match="aten::resize_"):
        x.new().resize_as_(flambeau.ones(2))


def test_sparse_tensors_are_told_of_in_texts() -> None:
    for x in (flambeau.eye(2).to_sparse(), flambeau.eye(2).to_sparse_csr()):
        assert f"{x}" == repr(x)
        with pytest.raises(TypeError, match="unsupported format string"):
            f"{x:.2f}"
    assert f"{flambeau.tensor(1.).to_sparse():.2f}" == "1.00"
