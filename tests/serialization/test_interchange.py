"""Checkpoints of PyTorch's load here, and ours there; the few facts that need no PyTorch are stored."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import flambeau

from .record_files import FOLDER, network

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
    "complex128",
)
FORMATS = ("zip", "old")


def contents(torch: Any) -> dict[str, Any]:
    """One object of everything, made by either framework."""
    x = torch.arange(12.0).reshape(3, 4)
    noted = torch.ones(2)
    noted.note = "a note"
    parameter = torch.nn.Parameter(x[0].clone())
    parameter.group = 3
    return OrderedDict(
        whole=x,
        part=x[1:, ::2],
        turned=x.t(),
        zero=torch.tensor(7),
        empty=torch.empty(0, 2),
        wanted=torch.ones(2, requires_grad=True),
        parameter=parameter,
        fixed=torch.nn.Parameter(x[0], False),
        buffer=torch.nn.Buffer(torch.ones(1)),
        noted=noted,
        meta=torch.ones(2, 3, device="meta"),
        plain=[
            1,
            2.5,
            "text é",
            b"bytes",
            None,
            True,
            (1, {"k": [2]}),
            {1, 2},
            bytearray(b"x"),
            1 + 2j,
            2**70,
        ],
        facts=[torch.float32, torch.bool, torch.device("cpu"), torch.Size([1, 2]), torch.strided],
        **{name: torch.tensor([0, 1, 3]).to(getattr(torch, name)) for name in DTYPES},
    )


def described(value: Any) -> Any:
    """What both frameworks can be asked, in plain Python."""
    kind = type(value).__name__
    if hasattr(value, "stride"):
        numbers = None if value.is_meta else value.detach().tolist()
        state = {name: item for name, item in vars(value).items() if name in ("note", "group", "persistent")}
        return (
            kind,
            str(value.dtype),
            tuple(value.shape),
            value.stride(),
            value.storage_offset(),
            value.requires_grad,
            numbers,
            state,
            isinstance(value, type(value)),
        )
    if isinstance(value, dict):
        return kind, [(key, described(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [described(item) for item in value]
    return kind, str(value)


def written(torch: Any, obj: Any, form: str, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=form == "zip", **options)
    file.seek(0)
    return file


@pytest.fixture(params=["to us", "from us"])
def pair(request: pytest.FixtureRequest, oracle: Any) -> tuple[Any, Any]:
    """The framework that writes and the one that reads."""
    return (oracle, flambeau) if request.param == "to us" else (flambeau, oracle)


formats = pytest.mark.parametrize("form", FORMATS)


@pytest.mark.oracle
@formats
@pytest.mark.parametrize("weights_only", [True, False])
def test_everything(pair: tuple[Any, Any], form: str, weights_only: bool) -> None:
    writer, reader = pair
    obj = contents(writer)
    back = reader.load(written(writer, obj, form), weights_only=weights_only)
    assert described(back) == described(obj)
    back["whole"][1, 0] = 50.0
    assert back["part"][0, 0] == 50.0 and back["turned"][0, 1] == 50.0


@pytest.mark.oracle
def test_from_a_path_and_mapped(pair: tuple[Any, Any], tmp_path: Path) -> None:
    writer, reader = pair
    obj = contents(writer)
    writer.save(obj, tmp_path / "file.pt")
    for options in ({}, {"mmap": True}, {"map_location": "cpu"}):
        assert described(reader.load(tmp_path / "file.pt", **options)) == described(obj)


LAYERS = {
    "mlp": "nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, 2), nn.Softmax(-1))",
    "cnn": "nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1))",
    "lstm": "nn.LSTM(2, 3, num_layers=2, bidirectional=True)",
    "gru cell": "nn.GRUCell(2, 3)",
    "attention": "nn.MultiheadAttention(4, 2)",
    "transformer": "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)",
    "embedding": "nn.Embedding(5, 3, padding_idx=0)",
    "containers": "nn.ModuleDict({'a': nn.ModuleList([nn.Linear(1, 1)]), 'b': nn.ParameterList([])})",
    "losses": "nn.ModuleList([nn.MSELoss(), nn.CrossEntropyLoss(), nn.TripletMarginLoss(), "
    "nn.HingeEmbeddingLoss()])",
    "activations": "nn.ModuleList([nn.GELU(), nn.Softplus(), nn.Hardshrink(), nn.LogSoftmax(1), nn.PReLU()])",
    "norms": "nn.ModuleList([nn.LayerNorm(3), nn.GroupNorm(1, 2), nn.InstanceNorm1d(2), "
    "nn.CrossMapLRN2d(2)])",
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules(pair: tuple[Any, Any], name: str) -> None:
    writer, reader = pair
    writer.manual_seed(0)
    net = eval(LAYERS[name], {"nn": writer.nn})
    back = reader.load(written(writer, net, "zip"), weights_only=False)
    assert repr(back) == repr(net)
    assert described(back.state_dict()) == described(net.state_dict())
    assert [key for key, _ in back.named_modules()] == [key for key, _ in net.named_modules()]
    if name == "mlp":
        back.eval()
        net.eval()
        x = [[1.0, 2.0, 3.0]]
        there, here = back(reader.tensor(x)), net(writer.tensor(x))
        assert there.tolist()[0] == pytest.approx(here.tolist()[0], abs=1e-6)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "RMSprop": {"centered": True},
    "Adagrad": {},
    "Adadelta": {},
    "NAdam": {},
    "RAdam": {},
    "Rprop": {},
    "Adamax": {},
    "ASGD": {},
}


def run(torch: Any, net: Any, optimizer: Any, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        loss = net(torch.tensor([[1.0, -2.0]])).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.oracle
@formats
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_in_the_other_framework(pair: tuple[Any, Any], name: str, form: str) -> None:
    writer, reader = pair
    writer.manual_seed(0)
    net = writer.nn.Linear(2, 2)
    optimizer = getattr(writer.optim, name)(net.parameters(), lr=0.01, **OPTIMIZERS[name])
    run(writer, net, optimizer, 3)
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    saved = reader.load(written(writer, state, form))
    net2 = reader.nn.Linear(2, 2)
    optimizer2 = getattr(reader.optim, name)(net2.parameters(), lr=0.01, **OPTIMIZERS[name])
    net2.load_state_dict(saved["net"])
    optimizer2.load_state_dict(saved["optimizer"])
    assert run(reader, net2, optimizer2, 3) == pytest.approx(run(writer, net, optimizer, 3), rel=1e-5)


@pytest.mark.oracle
def test_whole_optimizers_and_schedulers(pair: tuple[Any, Any]) -> None:
    writer, reader = pair
    net = writer.nn.Linear(2, 1)
    optimizer = writer.optim.Adam(net.parameters(), lr=0.1)
    scheduler = writer.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    run(writer, net, optimizer, 2)
    scheduler.step()
    net2, optimizer2 = reader.load(written(writer, [net, optimizer], "zip"), weights_only=False)
    assert optimizer2.param_groups[0]["params"][0] is net2.weight
    assert optimizer2.param_groups[0]["lr"] == 0.05
    saved = reader.load(written(writer, scheduler.state_dict(), "zip"))
    scheduler2 = reader.optim.lr_scheduler.StepLR(optimizer2, 1, 0.5)
    scheduler2.load_state_dict(saved)
    assert scheduler2.last_epoch == 1
    assert run(reader, net2, optimizer2, 2) == pytest.approx(run(writer, net, optimizer, 2), rel=1e-5)


@pytest.mark.oracle
def test_generators_go_on(pair: tuple[Any, Any]) -> None:
    writer, reader = pair
    generator = writer.Generator()
    generator.manual_seed(3)
    writer.rand(5, generator=generator)
    back = reader.load(written(writer, generator, "zip"), weights_only=False)
    assert reader.rand(3, generator=back).tolist() == writer.rand(3, generator=generator).tolist()
    state = reader.load(written(writer, writer.get_rng_state(), "zip"))
    kept = reader.get_rng_state()
    reader.set_rng_state(state)
    there = reader.rand(3).tolist()
    reader.set_rng_state(kept)
    assert there == writer.rand(3).tolist()


@pytest.mark.oracle
def test_conjugate_views_of_pytorch(oracle: Any) -> None:
    x = oracle.tensor([1 + 2j, 3 - 1j])
    assert flambeau.load(written(oracle, x.conj(), "zip")).tolist() == [1 - 2j, 3 + 1j]
    assert flambeau.load(written(oracle, x.conj().imag, "zip")).tolist() == [-2.0, 1.0]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "obj",
    [
        frozenset([1]),
        slice(1),
        range(3),
        OrderedDict,
        print,
        io.BytesIO,
        Path("a"),
        ...,
    ],
    ids=repr,
)
def test_refused_as_in_pytorch(oracle: Any, obj: Any) -> None:
    file = written(oracle, obj, "zip")
    messages = []
    for torch in (oracle, flambeau):
        file.seek(0)
        try:
            messages.append(str(torch.load(file)))
        except pickle.UnpicklingError as error:
            messages.append(str(error))
    assert messages[0] == messages[1]
    file.seek(0)
    theirs = sorted(oracle.serialization.get_unsafe_globals_in_checkpoint(file))
    file.seek(0)
    assert sorted(flambeau.serialization.get_unsafe_globals_in_checkpoint(file)) == theirs


@pytest.mark.oracle
def test_numpy_as_in_pytorch(oracle: Any) -> None:
    import numpy as np

    allowed = [
        np._core.multiarray.scalar,
        np.dtype,
        type(np.dtype("f8")),
        type(np.dtype("i8")),
        np.ndarray,
        np._core.multiarray._reconstruct,
    ]
    for writer, reader in ((oracle, flambeau), (flambeau, oracle), (flambeau, flambeau)):
        file = written(writer, {"s": np.float64(2.5), "i": np.int64(3), "a": np.arange(3)}, "zip")
        with pytest.raises(pickle.UnpicklingError, match=r"multiarray\.scalar was not an allowed global"):
            reader.load(file)
        file.seek(0)
        with reader.serialization.safe_globals(allowed):
            back = reader.load(file)
        assert back["s"] == 2.5 and type(back["s"]) is np.float64 and back["i"] == 3
        assert back["a"].tolist() == [0, 1, 2]


@pytest.mark.oracle
def test_plain_pickles_of_pytorch(oracle: Any) -> None:
    import flambeau.storage

    data = pickle.dumps(oracle.arange(3.0).untyped_storage())
    assert b"torch.storage" in data and b"_load_from_bytes" in data
    file = written(oracle, oracle.arange(3.0).untyped_storage(), "old")
    loaded = flambeau.storage._load_from_bytes(file.getvalue())
    assert loaded.tolist() == oracle.arange(3.0).untyped_storage().tolist()


@formats
@pytest.mark.parametrize("mmap", [False, True])
def test_recorded_files_of_pytorch(form: str, mmap: bool) -> None:
    if mmap and form == "old":
        pytest.skip("files of the old format cannot be mapped")
    back = flambeau.load(FOLDER / f"{form}.pt", mmap=mmap)
    assert described(back) == described(contents(flambeau))


def test_recorded_module_of_pytorch() -> None:
    expected = network(flambeau)
    back = flambeau.load(FOLDER / "module.pt", weights_only=False)
    assert repr(back) == repr(expected)
    assert described(back.state_dict()) == described(expected.state_dict())
    x = flambeau.tensor([[1.0, 2.0], [0.5, -1.0]])
    assert flambeau.equal(back(x)[0], expected(x)[0])
