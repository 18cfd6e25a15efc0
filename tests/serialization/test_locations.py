"""Where loaded storages go: `map_location` in all its forms, and files saved on devices not here."""

from __future__ import annotations

import io
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn, serialization

from . import hostile_files as files

NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
    "running "
    "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
    "storages to the "
    "CPU."
)


def saved(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


def on(location: str) -> io.BytesIO:
    """A tensor of four ones that was saved on a device."""
    return io.BytesIO(files.archive(files.tensor(location=location), _0=files.ONES))


CPU_FORMS: dict[str, Any] = {
    "text": "cpu",
    "device": torch.device("cpu"),
    "dictionary": {"cuda:0": "cpu", "cuda:1": "cpu"},
    "function": lambda storage, location: storage,
    "function that tells": lambda storage, location: storage if location.startswith("cuda") else None,
    "method": lambda storage, location: storage.cpu(),
}


def label(value: Any) -> str:
    """Name a parameter, without the address in a function's ``str``: test processes must agree on names."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("form", CPU_FORMS)
@pytest.mark.parametrize("location", ["cuda:0", "cuda:1"])
def test_saved_on_cuda(form: str, location: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.load(on(location))
    assert str(caught.value) == NO_CUDA
    loaded = torch.load(on(location), map_location=CPU_FORMS[form])
    assert loaded.tolist() == [1.0] * 4 and loaded.device.type == "cpu"


@pytest.mark.parametrize(
    "where",
    [
        "cuda",
        "cuda:1",
        torch.device("cuda"),
        {"cpu": "cuda:0"},
        lambda storage, location: serialization.default_restore_location(storage, "cuda"),
    ],
    ids=label,
)
def test_to_cuda(where: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.load(saved(torch.ones(2)), map_location=where)
    assert str(caught.value) == NO_CUDA


@pytest.mark.parametrize(
    "where",
    [
        "meta",
        torch.device("meta"),
        {"cpu": "meta"},
        lambda storage, location: serialization.default_restore_location(storage, "meta"),
    ],
    ids=label,
)
@pytest.mark.parametrize("legacy", [False, True])
def test_to_meta(where: Any, legacy: bool) -> None:
    file = saved({"w": nn.Parameter(torch.ones(2, 3))}, _use_new_zipfile_serialization=not legacy)
    back = torch.load(file, map_location=where)["w"]
    assert back.is_meta and back.shape == (2, 3) and back.requires_grad and isinstance(back, nn.Parameter)


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (
        "moon",
        RuntimeError,
        r"don't know how to restore data location of torch.storage.UntypedStorage \(tagged with moon\)",
    ),
    ("cpu:0", RuntimeError, r"\(tagged with cpu:0\)"),
    ("mps", RuntimeError, "Storage device not recognized: mps"),
    (3, TypeError, "'int' object is not callable"),
    ([1], TypeError, "'list' object is not callable"),
    ({"cpu": torch.device("cpu")}, TypeError, "expected a string"),
    (lambda storage, location: 3, TypeError, "must return an UntypedStorage or None"),
]


@pytest.mark.parametrize(("where", "error", "message"), MISTAKES, ids=lambda value: label(value)[:30])
def test_mistaken_map_location(where: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.load(saved(torch.ones(2)), map_location=where)


def test_a_function_sees_storage_and_location() -> None:
    seen = []

    def note(storage: Any, location: str) -> None:
        seen.append((type(storage).__name__, storage.nbytes(), storage[3], location))

    torch.load(saved([torch.ones(2), torch.ones(3)]), map_location=note)
    assert seen == [("UntypedStorage", 8, 0x3F, "cpu"), ("UntypedStorage", 12, 0x3F, "cpu")]


def test_registered_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization.locations, "_packages", list(serialization.locations._packages))
    serialization.register_package(
        5, lambda storage: None, lambda storage, location: storage if location == "moon" else None
    )
    assert torch.load(on("moon")).tolist() == [1.0] * 4
    assert serialization.location_tag(torch.ones(1).untyped_storage()) == "cpu"
