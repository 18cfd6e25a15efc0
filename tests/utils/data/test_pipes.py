"""Pipes against PyTorch's: values, errors, warnings, names."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.utils.data.programs import outcome, programs

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*fork")]


def double(x: Any) -> Any:
    return 2 * x


def even(x: int) -> bool:
    return x % 2 == 0


def mod3(x: int) -> int:
    return x % 3


def add(a: Any, b: Any) -> Any:
    return a + b


def two(a: Any, b: Any) -> Any:
    return a, b


def nonb(x: Any) -> Any:
    return x


def names(framework: ModuleType) -> dict[str, Any]:
    """What the programs use."""
    data = f"{framework.__name__}.utils.data"
    found: dict[str, Any] = {
        function.__name__: function for function in (double, even, mod3, add, two, nonb)
    }
    found |= {"copy": copy, "io": io, "pickle": pickle, "__name__": __name__}
    streams, maps = import_module(f"{data}.datapipes.iter"), import_module(f"{data}.datapipes.map")
    common, decoder = (import_module(f"{data}.datapipes.utils.{part}") for part in ("common", "decoder"))
    graph, settings = import_module(f"{data}.graph"), import_module(f"{data}.graph_settings")
    found |= {"t": framework, "d": import_module(data), "I": streams, "M": maps, "common": common,
              "dec": decoder, "g": graph, "gs": settings, "W": streams.IterableWrapper,
              "S": maps.SequenceWrapper}  # fmt: skip
    return found


@pytest.mark.parametrize("program", list(programs("pipes/streams.txt")))
def test_stream(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))


@pytest.mark.parametrize("program", list(programs("pipes/maps_and_helpers.txt")))
def test_map_or_helper(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))


@pytest.mark.parametrize("program", list(programs("pipes/loaders.txt")))
def test_loader(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))


def files(framework: ModuleType, folder: Path) -> list[Any]:
    """What pipes of files make of a folder."""
    known = names(framework)
    pipes, root, seen = known["I"], str(folder), []

    def short(path: str) -> str:
        return path.removeprefix(root)

    deep = {"recursive": True}
    for options in ({}, deep, {"masks": "*.txt", **deep}, {"masks": ["*.bin", "c*"], **deep}, {"length": 7}):
        lister = pipes.FileLister(root, **options)
        seen.append([short(path) for path in lister])
    seen.append(len(lister))
    seen.append([short(path) for path in known["W"]([root, root + "/sub"]).list_files()])
    for options in ({}, {"mode": "b"}, {"mode": "rt", "encoding": "utf-8"}):
        opened = pipes.FileLister(root).open_files(**options)
        seen.append([(short(path), file.read()) for path, file in opened])
    for chunk in (None, 2, 0):
        opened = pipes.FileOpener(pipes.FileLister(root), mode="b")
        seen.append([(short(path), part) for path, part in opened.read_from_stream(chunk)])
    for handlers in ((), (known["dec"].basichandlers,), (lambda key, data: key.upper(),)):
        opened = pipes.FileOpener(pipes.FileLister(root), mode="b")
        with pytest.warns(FutureWarning, match="RoutedDecoder"):
            decoded = opened.routed_decode(*handlers)
        seen.append([(short(path), found) for path, found in decoded])
    return seen


def test_files(torch: ModuleType, oracle: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "b.bin").write_bytes(b"12345")
    (tmp_path / "j.json").write_text("[1, 2]")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.txt").write_text("x")
    assert files(torch, tmp_path) == files(oracle, tmp_path)


def test_types_that_are_checked(torch: ModuleType) -> None:
    """PyTorch's own decorators fail on Python 3.11 and later."""
    data = torch.utils.data

    class Numbers(data.IterDataPipe[int]):
        @data.runtime_validation
        def __iter__(self) -> Iterator[Any]:
            yield from (1, "a")

    with pytest.raises(RuntimeError, match="Expected an instance as subtype of <class 'int'>, but found a"):
        list(Numbers())
    with data.runtime_validation_disabled():
        assert list(Numbers()) == [1, "a"]
