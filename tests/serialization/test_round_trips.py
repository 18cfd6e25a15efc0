"""What is saved comes back: dtypes, views, shared storages, containers, modules, optimizers."""

from __future__ import annotations

import copy
import io
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn

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


def in_memory(obj: Any, folder: Path, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def in_file(obj: Any, folder: Path, **options: Any) -> Any:
    torch.save(obj, str(folder / "file.pt"))
    return torch.load(str(folder / "file.pt"), **options)


def mapped(obj: Any, folder: Path, **options: Any) -> Any:
    torch.save(obj, folder / "file.pt")
    return torch.load(folder / "file.pt", mmap=True, **options)


def old_format(obj: Any, folder: Path, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return torch.load(file, **options)


def new_protocol(obj: Any, folder: Path, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file, pickle_protocol=5)
    file.seek(0)
    return torch.load(file, **options)


WAYS = (in_memory, in_file, mapped, old_format, new_protocol)
Way = Callable[..., Any]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def same(a: Any, b: Any) -> None:
    """Tensors are equal in every respect that a checkpoint keeps."""
    assert type(a) is type(b)
    assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
    assert a.storage_offset() == b.storage_offset() and a.requires_grad == b.requires_grad
    assert a.tolist() == b.tolist()


@ways
@pytest.mark.parametrize("name", DTYPES)
def test_dtype(way: Way, name: str, tmp_path: Path) -> None:
    x = torch.tensor([0, 1, 1, 3, 120, 7]).to(getattr(torch, name)).reshape(2, 3)
    back = way({"x": x, "t": x.t(), "one": x[1, 2], "none": x[:0]}, tmp_path)
    same(back["x"], x)
    same(back["t"], x.t())
    same(back["one"], x[1, 2])
    same(back["none"], x[:0])


SHAPES: dict[str, Callable[[], Any]] = {
    "zero-dimensional": lambda: torch.tensor(2.5),
    "empty": lambda: torch.empty(0),
    "empty with dimensions": lambda: torch.empty(3, 0, 2),
    "a slice": lambda: torch.arange(10.0)[3:7],
    "every second": lambda: torch.arange(10.0)[::2],
    "transposed": lambda: torch.arange(6).reshape(2, 3).t(),
    "expanded": lambda: torch.tensor([[1.0], [2.0]]).expand(2, 4),
    "channels last": lambda: torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "requires grad": lambda: torch.rand(3, requires_grad=True),
    "a result": lambda: torch.rand(3, requires_grad=True) * 2,
    "a pending result": lambda: torch.ones(3).add(1).mul(2),
    "written in place": lambda: torch.zeros(4).fill_(3).index_fill_(0, torch.tensor([1]), 9.0),
    "parameter": lambda: nn.Parameter(torch.rand(2, 2)),
    "frozen parameter": lambda: nn.Parameter(torch.rand(2), requires_grad=False),
    "from NumPy": lambda: torch.from_numpy(__import__("numpy").arange(6.0).reshape(2, 3)),
    "nan and inf": lambda: torch.tensor([float("inf"), -float("inf"), -0.0]),
}


@ways
@pytest.mark.parametrize("name", SHAPES)
def test_tensor(way: Way, name: str, tmp_path: Path) -> None:
    x = SHAPES[name]()
    same(way(x, tmp_path), x)


@ways
def test_shared_storages_stay_shared_and_others_do_not(way: Way, tmp_path: Path) -> None:
    x = torch.zeros(6)
    back = way([x, x[2:4], x.view(2, 3), x.clone(), x], tmp_path)
    back[0][2] = 7
    assert back[1][0] == 7 and back[2][0, 2] == 7 and back[3][2] == 0
    assert back[4] is back[0]
    assert x[2] == 0


@ways
def test_loaded_tensors_can_be_trained(way: Way, tmp_path: Path) -> None:
    w = way(nn.Parameter(torch.ones(3)), tmp_path)
    (w * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
    assert w.tolist() == [0.5, 0.0, -0.5]


@ways
@pytest.mark.parametrize(
    "obj",
    [
        None,
        True,
        3,
        -(2**70),
        2.5,
        1 + 2j,
        "text é",
        b"bytes",
        bytearray(b"abc"),
        (1, (2, [3])),
        {1: {2: {3}}},
        OrderedDict(a=1, b=[2]),
        Counter("aab"),
        torch.Size([1, 2]),
        torch.float32,
        torch.bool,
        torch.device("cuda:1"),
        torch.device("cpu"),
        torch.strided,
        {"deep": [{"er": ({"x": 1},)}]},
    ],
    ids=repr,
)
def test_plain_objects(way: Way, obj: Any, tmp_path: Path) -> None:
    back = way(obj, tmp_path)
    assert back == obj and type(back) is type(obj)


@ways
def test_attributes_of_tensors(way: Way, tmp_path: Path) -> None:
    x, p, b = torch.ones(2), nn.Parameter(torch.ones(2)), nn.Buffer(torch.ones(2), persistent=False)
    x.note, p.note = "x", [1]  # type: ignore[attr-defined]
    back = way([x, p, b], tmp_path)
    assert back[0].note == "x" and back[1].note == [1] and isinstance(back[1], nn.Parameter)
    assert isinstance(back[2], nn.Buffer) and back[2].persistent is False


@ways
def test_meta(way: Way, tmp_path: Path) -> None:
    back = way(torch.ones(2, 3, device="meta").t(), tmp_path)
    assert back.is_meta and back.shape == (3, 2) and back.stride() == (1, 3)


@ways
def test_storages(way: Way, tmp_path: Path) -> None:
    x = torch.arange(3.0)
    typed, untyped = way(x.storage(), tmp_path), way(x.untyped_storage(), tmp_path)
    assert typed.tolist() == [0.0, 1.0, 2.0] and typed.dtype is torch.float32
    assert untyped.tolist() == x.untyped_storage().tolist()


@ways
def test_one_storage_has_one_type(way: Way, tmp_path: Path) -> None:
    x = torch.ones(4)
    numbers = torch.ones(2, dtype=torch.complex64)
    message = "Cannot save multiple tensors or storages that view the same data as different types"
    for obj in ([x, x.view(torch.int32)], [x.view(torch.uint16), x], [numbers, torch.view_as_real(numbers)]):
        with pytest.raises(RuntimeError, match=message):
            way(obj, tmp_path)
    bytes_twice = way([x.view(torch.uint16), x.view(torch.float8_e5m2)], tmp_path)
    assert bytes_twice[0].untyped_storage() == bytes_twice[1].untyped_storage()


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(1, 2, 3),
            norm=nn.BatchNorm2d(2),
            act=nn.ReLU(),
            flat=nn.Flatten(),
            out=nn.Linear(18, 2),
        )
    )


def step(net: Any, optimizer: Any) -> float:
    loss = net(torch.ones(2, 1, 5, 5) * torch.tensor([1.0, 2.0]).reshape(2, 1, 1, 1)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@ways
@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
def test_training_goes_on(way: Way, kind: str, tmp_path: Path) -> None:
    options = {"momentum": 0.9} if kind != "Adam" else {"amsgrad": True}
    net = model()
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=1e-3, **options)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        step(net, optimizer)
        scheduler.step()
    saved = way(
        {
            "net": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "epoch": 3,
            "random": torch.get_rng_state(),
        },
        tmp_path,
    )
    fresh = model()
    optimizer2 = getattr(torch.optim, kind)(fresh.parameters(), lr=1e-3, **options)
    scheduler2 = torch.optim.lr_scheduler.StepLR(optimizer2, 2)
    assert str(fresh.load_state_dict(saved["net"])) == "<All keys matched successfully>"
    optimizer2.load_state_dict(saved["optimizer"])
    scheduler2.load_state_dict(saved["scheduler"])
    went_on = [step(net, optimizer) for _ in range(2)]
    # A graph that comes back is compiled, which may change the last bits.
    assert [step(fresh, optimizer2) for _ in range(2)] == pytest.approx(went_on, rel=1e-5)
    assert scheduler2.last_epoch == 3
    assert saved["random"].dtype is torch.uint8


@ways
def test_whole_module(way: Way, tmp_path: Path) -> None:
    net = model().eval()
    back = way(net, tmp_path, weights_only=False)
    assert str(back) == str(net) and not back.training
    x = torch.rand(2, 1, 5, 5)
    assert torch.equal(back(x), net(x))
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL torch.nn.modules.container.Sequential was not an allowed"
    ):
        way(net, tmp_path)


MODULES: dict[str, Callable[[], Any]] = {
    "lstm": lambda: nn.LSTM(2, 3, num_layers=2),
    "transformer": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    "shared weights": lambda: (lambda m: (setattr(m[1], "weight", m[0].weight), m)[1])(
        nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    ),
    "lists": lambda: nn.ModuleDict({"a": nn.ModuleList([nn.Linear(1, 1)]), "b": nn.Embedding(3, 2)}),
    "parameters": lambda: nn.ParameterDict({"a": nn.Parameter(torch.ones(1))}),
    "lazy": lambda: nn.LazyLinear(3),
    "loss": lambda: nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])),
    "softmax": lambda: nn.Softmax(dim=1),
    "pool": lambda: nn.AdaptiveAvgPool2d(1),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("how", ["save", "pickle", "deepcopy"])
def test_module(name: str, how: str, tmp_path: Path) -> None:
    net = MODULES[name]()
    if how == "save":
        back = in_memory(net, tmp_path, weights_only=False)
    else:
        back = pickle.loads(pickle.dumps(net)) if how == "pickle" else copy.deepcopy(net)
    assert repr(back) == repr(net)
    assert list(back.state_dict()) == list(net.state_dict())
    for (_, a), (_, b) in zip(net.named_parameters(), back.named_parameters()):
        assert type(a) is type(b)
        if not isinstance(a, nn.UninitializedParameter):
            same(a, b)
    if name == "shared weights":
        assert back[0].weight is back[1].weight


@pytest.mark.parametrize("how", ["save", "pickle"])
def test_whole_optimizer(how: str, tmp_path: Path) -> None:
    net = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    both = (net, optimizer)
    if how == "save":
        net2, optimizer2 = in_memory(both, tmp_path, weights_only=False)
    else:
        net2, optimizer2 = pickle.loads(pickle.dumps(both))
    assert optimizer2.param_groups[0]["params"][0] is net2.weight
    same(optimizer2.state[net2.weight]["exp_avg"], optimizer.state[net.weight]["exp_avg"])


def test_generator(tmp_path: Path) -> None:
    generator = torch.Generator()
    generator.manual_seed(5)
    torch.rand(3, generator=generator)
    back = in_memory(generator, tmp_path, weights_only=False)
    assert torch.equal(torch.rand(4, generator=back), torch.rand(4, generator=generator))


class Tagged(torch.Tensor):
    """A subclass of a user's."""


@ways
def test_subclass(way: Way, tmp_path: Path) -> None:
    x = torch.arange(3.0).as_subclass(Tagged)
    x.tag = "t"  # type: ignore[attr-defined]
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        way(x, tmp_path)
    with torch.serialization.safe_globals([Tagged]):
        back = way(x, tmp_path)
    assert type(back) is Tagged and back.tag == "t" and back.tolist() == [0.0, 1.0, 2.0]


def test_another_pickle_module(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    x = torch.rand(3)
    file = io.BytesIO()
    torch.save({"x": x, "f": lambda y: y + 1}, file, pickle_module=cloudpickle)
    file.seek(0)
    back = torch.load(file, weights_only=False)
    same(back["x"], x)
    assert back["f"](1) == 2
