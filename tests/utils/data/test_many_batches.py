"""Ten thousand batches leave no memory, file descriptor, thread, process or shared file behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = """
import gc, json, os, sys, threading, warnings
import multiprocessing
from {framework} import from_numpy, tensor, zeros
from {framework}.utils.data import DataLoader

warnings.simplefilter("ignore")

class Pairs:
    def __init__(self, count):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return zeros(64, 16) + index, {"label": index, "name": str(index)}

def held():
    "What the process holds: kB of memory, descriptors, threads, children, shared files that it maps."
    gc.collect()
    with open("/proc/self/status") as status:
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    with open("/proc/self/maps") as maps:
        shared = len({line.split(None, 5)[5] for line in maps if "/dev/shm/" in line})
    children = len(multiprocessing.active_children())
    return [memory, len(os.listdir("/proc/self/fd")), threading.active_count(), children, shared]

def epoch(loader):
    last = None
    for images, labels in loader:
        last = int(labels["label"][-1])
        assert images.shape == (4, 64, 16) and float(images[3, 0, 0]) == last
    return last

def main(epochs, batches, **options):
    loader = DataLoader(Pairs(4 * batches), batch_size=4, **options)
    for _ in range(max(1, epochs // 10)):
        epoch(loader)
    before = held()
    for _ in range(epochs):
        assert epoch(loader) == 4 * batches - 1
    print(json.dumps([before, held()]))

if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
"""

CASES = {
    "no workers, one epoch": {"epochs": 1, "batches": 10_000},
    "no workers, many epochs": {"epochs": 100, "batches": 100},
    "fork, one epoch": {"epochs": 1, "batches": 10_000, "num_workers": 2, "multiprocessing_context": "fork"},
    "fork, many epochs": {"epochs": 50, "batches": 200, "num_workers": 2, "multiprocessing_context": "fork"},
    "spawn, one epoch": {
        "epochs": 1,
        "batches": 10_000,
        "num_workers": 2,
        "multiprocessing_context": "spawn",
    },
    "spawn, persistent workers": {
        "epochs": 50,
        "batches": 200,
        "num_workers": 2,
        "multiprocessing_context": "spawn",
        "persistent_workers": True,
    },
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process holds is read from /proc")
@pytest.mark.parametrize("name", CASES)
def test_nothing_grows(torch: ModuleType, tmp_path: Path, name: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{framework}", torch.__name__), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(str(torch.__file__)).parents[1])}
    command = [sys.executable, str(script), json.dumps(CASES[name])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    before, after = json.loads(done.stdout.splitlines()[-1])
    grown = dict(zip(("memory", "descriptors", "threads", "children", "shared files"), zip(before, after)))
    assert after[0] - before[0] < 8_000, grown  # kB; a batch alone is 16 kB
    assert after[1] <= before[1] and after[2:4] == before[2:4], grown
    assert after[4] <= before[4], grown
