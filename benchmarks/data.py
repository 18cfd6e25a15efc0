"""Samples per second that a DataLoader delivers: flambeau's, and PyTorch's beside it.

    python benchmarks/data.py [--oracle PYTHON] [--rounds 3] [--only REGEX] [--json FILE]

Prints a markdown table. Each round measures every case in a process per framework, one framework after the
other; within a process a case runs several epochs. The best epoch counts: noise only ever takes away.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 0.35  # how long a case is measured within a process, at least
EPOCHS = 3


class Images:
    """Images of 3 x 64 x 64 and their labels, from an array of NumPy's."""

    def __init__(self, torch: Any, count: int) -> None:
        self.images = np.random.default_rng(0).random((256, 3, 64, 64), np.float32)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.images[index % 256], index % 10


class Rows(Images):
    """Rows of 32 numbers and their labels, from two tensors, by a dataset of the user's own."""

    def __init__(self, torch: Any, count: int) -> None:
        self.rows, self.labels = torch.rand(count, 32), torch.arange(count)
        self.count = count

    def __getitem__(self, index: int) -> Any:
        return self.rows[index], self.labels[index]


class Augmented(Images):
    """Images of 3 x 32 x 32, half of them flipped, cropped at random and normalized."""

    def __init__(self, torch: Any, count: int) -> None:
        self.torch, self.images, self.labels = torch, torch.rand(count, 3, 32, 32), torch.arange(count)
        self.mean, self.std = torch.rand(3, 1, 1), torch.rand(3, 1, 1) + 0.5
        self.count = count

    def __getitem__(self, index: int) -> Any:
        image = self.torch.nn.functional.pad(self.images[index], (4, 4, 4, 4))
        top, left = self.torch.randint(0, 9, (2,)).tolist()
        image = image[:, top:top + 32, left:left + 32]
        if self.torch.rand(1) < 0.5:
            image = image.flip(-1)
        return (image - self.mean) / self.std, self.labels[index]


class Noisy(Images):
    """Rows of 32 numbers with some noise."""

    def __init__(self, torch: Any, count: int) -> None:
        self.torch, self.rows, self.labels = torch, torch.rand(count, 32), torch.arange(count)
        self.count = count

    def __getitem__(self, index: int) -> Any:
        return self.rows[index] + 0.1 * self.torch.randn(32), self.labels[index]


class Samples(Images):
    """Samples on which a function works with operators of tensors (``SAMPLES``)."""

    def __init__(self, torch: Any, count: int, make: Callable[[Samples, int], Any]) -> None:
        self.torch, self.make, self.count = torch, make, count
        self.rows, self.labels = torch.rand(count, 64), torch.randint(0, 10, (count,))
        self.array = np.random.default_rng(0).random((count, 64), np.float32)
        self.images = torch.rand(512, 3, 32, 32)
        self.padded = self.pad(self.images)
        self.image_array = np.random.default_rng(0).random((512, 3, 32, 32), np.float32)
        self.bytes = torch.randint(0, 256, (512, 28, 28), dtype=torch.uint8)
        self.mean, self.std = torch.rand(64), torch.rand(64) + 0.5
        self.means, self.stds = torch.rand(3, 1, 1), torch.rand(3, 1, 1) + 0.5

    def __getitem__(self, index: int) -> Any:
        return self.make(self, index), self.labels[index]

    def pad(self, images: Any) -> Any:
        """With a border of four pixels."""
        return self.torch.nn.functional.pad(images, (4, 4, 4, 4))

    def cropped(self, padded: Any) -> Any:
        """A part at random, by numbers of the framework's."""
        top, left = [self.torch.randint(0, 9, (1,)).item() for _ in range(2)]
        return padded[:, top:top + 32, left:left + 32]

    def flipped(self, image: Any) -> Any:
        """Half of the images mirrored, by a number of the framework's."""
        return image.flip(-1) if self.torch.rand(1) < 0.5 else image

    def normalized(self, image: Any) -> Any:
        """With means and deviations of the channels taken out."""
        return (image - self.means) / self.stds

    def cropped_by_python(self, padded: Any) -> Any:
        """A part at random, by Python's numbers."""
        top, left = random.randint(0, 8), random.randint(0, 8)
        return padded[:, top:top + 32, left:left + 32]


SAMPLES: dict[str, Callable[[Samples, int], Any]] = {
    "normalized": lambda t, i: (t.rows[i] - t.mean) / t.std,
    "scaled": lambda t, i: t.rows[i] * 2,
    "with noise": lambda t, i: t.rows[i] + 0.1 * t.torch.randn(64),
    "with noise like it": lambda t, i: t.rows[i] + 0.1 * t.torch.randn_like(t.rows[i]),
    "less its mean": lambda t, i: t.rows[i] - t.rows[i].mean(),
    "one of ten": lambda t, i: (t.rows[i], t.torch.nn.functional.one_hot(t.labels[i], 10)),
    "one of ten, float": lambda t, i: (t.rows[i], t.torch.nn.functional.one_hot(t.labels[i], 10).float()),
    "of NumPy": lambda t, i: t.torch.from_numpy(t.array[i]),
    "of NumPy, flipped": lambda t, i: t.flipped(t.torch.from_numpy(t.image_array[i % 512])),
    "flipped": lambda t, i: t.flipped(t.images[i % 512]),
    "of NumPy, a label made": lambda t, i: (t.torch.from_numpy(t.array[i]), t.torch.tensor(i % 10)),
    "bytes": lambda t, i: t.bytes[i % 512].float() / 255,
    "flipped by item": lambda t, i: (
        t.images[i % 512].flip(-1) if t.torch.rand(1).item() < 0.5 else t.images[i % 512]),
    "cropped": lambda t, i: t.cropped(t.padded[i % 512]),
    "padded, cropped": lambda t, i: t.cropped(t.pad(t.images[i % 512])),
    "padded, cropped, flipped, normalized": lambda t, i: t.normalized(t.flipped(t.cropped(t.pad(
        t.images[i % 512])))),
    "cropped, flipped by Python, normalized": lambda t, i: t.normalized(_flipped_by_python(
        t.cropped_by_python(t.padded[i % 512]))),
    "joined": lambda t, i: t.rows[i][None],
}
WITH_WORKERS = ("normalized", "with noise", "of NumPy", "flipped", "padded, cropped, flipped, normalized")


def _flipped_by_python(image: Any) -> Any:
    return image.flip(-1) if random.random() < 0.5 else image


def joined(torch: Any) -> Callable[[Any], Any]:
    """A ``collate_fn`` that joins samples that have a first dimension."""
    return lambda batch: [torch.cat([x for x, _ in batch]), torch.stack([y for _, y in batch])]


class Tokens(Images):
    """Stretches of 64 tokens, and the same one further on."""

    def __init__(self, torch: Any, count: int) -> None:
        self.tokens, self.count = torch.randint(0, 100, (count + 65,)), count

    def __getitem__(self, index: int) -> Any:
        return self.tokens[index:index + 64], self.tokens[index + 1:index + 65]


class Dicts(Images):
    """Small records: a tensor, a number, an integer and a text."""

    def __init__(self, torch: Any, count: int) -> None:
        self.rows = torch.rand(256, 16)
        self.count = count

    def __getitem__(self, index: int) -> Any:
        return {"x": self.rows[index % 256], "weight": 0.5 * index, "label": index, "name": "a name"}


class Sentences(Images):
    """Sequences of 10 to 60 tokens."""

    def __init__(self, torch: Any, count: int) -> None:
        self.rows = [torch.arange(10 + index % 50) for index in range(256)]
        self.count = count

    def __getitem__(self, index: int) -> Any:
        return self.rows[index % 256]


def rows(torch: Any, count: int) -> Any:
    """Rows of 32 numbers, with a label each."""
    return torch.utils.data.TensorDataset(torch.rand(count, 32), torch.arange(count))


def stream(torch: Any, count: int) -> Any:
    """Rows of 64 numbers, one after the other; workers take turns."""
    data = torch.utils.data

    class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[Any]:
            info = data.get_worker_info()
            row = np.arange(64.0, dtype=np.float32)
            yield from (row for _ in range(info.id if info else 0, count, info.num_workers if info else 1))

    return Stream()


def padded(torch: Any) -> Callable[[Any], Any]:
    """A ``collate_fn`` that pads sequences."""
    return lambda batch: torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)


# Name: what makes the dataset, how many samples, and what makes the collate_fn.
DATASETS: dict[str, tuple[Callable[[Any, int], Any], int, Callable[[Any], Any] | None]] = {
    "rows of tensors": (rows, 16384, None),
    "rows, own dataset": (Rows, 16384, None),
    "rows of many, own dataset": (Rows, 65536, None),
    "images 3x64x64": (Images, 2048, None),
    "images 3x32x32, augmented": (Augmented, 2048, None),
    "rows with noise": (Noisy, 8192, None),
    "tokens": (Tokens, 8192, None),
    "dicts": (Dicts, 8192, None),
    "variable lengths": (Sentences, 8192, padded),
    "stream": (stream, 16384, None),
    **{name: (partial(Samples, make=make), 4096, joined if name == "joined" else None)
       for name, make in SAMPLES.items()},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "batch 32": {"batch_size": 32},
    "batch 32, shuffled": {"batch_size": 32, "shuffle": True},
    "batch 256": {"batch_size": 256},
    "batch 32, 1 worker": {"batch_size": 32, "num_workers": 1},
    "batch 32, 2 workers": {"batch_size": 32, "num_workers": 2},
    "batch 256, 2 workers": {"batch_size": 256, "num_workers": 2},
    "batch 32, shuffled, 2 persistent": {
        "batch_size": 32, "shuffle": True, "num_workers": 2, "persistent_workers": True},
}
SAMPLE_OPTIONS: dict[str, dict[str, Any]] = {
    "batch 64, shuffled": {"batch_size": 64, "shuffle": True},
    "batch 64, shuffled, 2 persistent": {
        "batch_size": 64, "shuffle": True, "num_workers": 2, "persistent_workers": True},
}
LARGE = ("rows of many, own dataset",)
# Workers that are started for next to nothing.
STARTS = {"start of 2 workers": {"batch_size": 32, "num_workers": 2}}


def cases() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """All cases: dataset, options in words, samples, options."""
    for name, (_, count, _) in DATASETS.items():
        for words, options in (SAMPLE_OPTIONS if name in SAMPLES or name in LARGE else OPTIONS).items():
            if name in SAMPLES:
                fits = "num_workers" not in options or name in WITH_WORKERS
            else:
                fits = name != "stream" or "shuffle" not in options
            if fits:
                yield name, words, count, options
    for words, options in STARTS.items():
        yield "rows of tensors", words, 64, options


def read(batch: Any) -> None:
    """Ask for the values of a batch, lest they be left for later."""
    if hasattr(batch, "data_ptr"):
        batch.data_ptr()
    elif isinstance(batch, (list, dict)):
        for part in batch.values() if isinstance(batch, dict) else batch:
            read(part)


def rate(torch: Any, name: str, count: int, options: dict[str, Any]) -> float:
    """Samples per second in the best epoch."""
    make, _, collate = DATASETS[name]
    loader = torch.utils.data.DataLoader(
        make(torch, count), collate_fn=collate(torch) if collate else None, **options)
    best, began, epochs = float("inf"), time.perf_counter(), 0
    while epochs < EPOCHS or time.perf_counter() - began < SECONDS:
        start = time.perf_counter()
        for batch in loader:
            read(batch)
        best = min(best, time.perf_counter() - start)
        epochs += 1
    return count / best


def child(framework: str, only: str) -> None:
    """Measure the cases with one framework and print JSON."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module(framework)
    torch.set_num_threads(1)
    importlib.import_module(f"{framework}.utils.data")
    found = {f"{name}: {words}": rate(torch, name, count, options)
             for name, words, count, options in cases() if re.search(only, f"{name}: {words}")}
    print(json.dumps(found))


def in_child(python: str, framework: str, only: str) -> dict[str, float]:
    """Measure in a child process of the given interpreter."""
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    if framework == "flambeau":
        environment["PYTHONPATH"] = str(ROOT)
    command = [python, str(Path(__file__).resolve()), "--child", framework, "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{framework} failed:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(results: dict[str, dict[str, float]]) -> str:
    """Samples per second as markdown, with the ratio where both frameworks were measured."""
    names = list(results)
    head = ["dataset", "loader", *(f"{name}, samples/s" for name in names)]
    lines = []
    for case in results[names[0]]:
        rates = [results[name][case] for name in names]
        ratio = [f"{rates[0] / rates[1]:.2f}"] if len(rates) == 2 else []
        lines.append([*case.split(": "), *(f"{one:,.0f}" for one in rates), *ratio])
    head += ["ratio"] if len(names) == 2 else []
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines))


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", metavar="PYTHON", help="an interpreter with PyTorch, measured as well")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", metavar="REGEX", default="", help="cases whose name it is found in")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", choices=("flambeau", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.only)
        return
    pythons = {"flambeau": sys.executable, **({"torch": options.oracle} if options.oracle else {})}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
    for _ in range(options.rounds):
        for name, python in pythons.items():
            rounds[name].append(in_child(python, name, options.only))
    results = {name: {case: max(one[case] for one in measured) for case in measured[0]}
               for name, measured in rounds.items()}
    print(table(results))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
