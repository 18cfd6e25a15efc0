"""Pipes against PyTorch's: values, errors, warnings, names.

Each line of the files in ``pipes`` is an expression, and each ``def`` a function without arguments; both
frameworks evaluate them.
"""

from __future__ import annotations

import copy
import io
import pickle
import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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


def programs(name: str) -> Iterator[str]:
    """The expressions and functions of a file."""
    block: list[str] = []
    for line in (Path(__file__).parent / "pipes" / name).read_text(encoding="utf-8").splitlines():
        if block and not line.startswith(" "):
            yield "\n".join(block)
            block = []
        block.append(line)
    yield "\n".join(block)


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


def outcome(framework: ModuleType, program: str) -> Any:
    framework.manual_seed(12)
    known = names(framework)
    expression = program
    if program.startswith("def "):
        exec(program, known)
        expression = f"{program[4 : program.index('(')]}()"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = repr(eval(expression, known))
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
    told = [(w.category.__name__, str(w.message)) for w in caught if "fork()" not in str(w.message)]
    return [re.sub("0x[0-9a-f]+", "0x", text.replace("flambeau", "torch")) for text in (shown, repr(told))]


@pytest.mark.parametrize("program", list(programs("streams.txt")))
def test_stream(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program) == outcome(oracle, program)


@pytest.mark.parametrize("program", list(programs("maps_and_helpers.txt")))
def test_map_or_helper(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program) == outcome(oracle, program)


@pytest.mark.parametrize("program", list(programs("loaders.txt")))
def test_loader(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program) == outcome(oracle, program)


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
