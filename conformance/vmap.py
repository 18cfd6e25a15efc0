"""Measures vmap on the operator database: on a batch made of each operator's samples it must equal a loop.

    python conformance/vmap.py --harness DIR --data DIR [--ops REGEX] [--json FILE]

``--harness``: the folder with the harness's ``opdata.py``; ``--data``: what its ``dump.py`` wrote. Of each
operator up to ``--samples`` samples are taken (float32 where it has any). A batch is the sample, and the
sample with its floating tensors a little smaller: integers and truth values stay, so that they remain
allowed. Random results are compared in shape and type. Operators without tensors in and out are not counted.
Fails where fewer operators pass than ``LEAST``; those that fail are refused by PyTorch too, all but
``resize_``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

LEAST = 0.97  # of the operators
FACTORS = (1.0, 0.875)  # exact in every floating type


class NotCounted(Exception):
    """There is nothing to batch in a sample, or nothing to compare."""


class Sample:
    """One sample as a function of its tensors."""

    def __init__(self, case: Any) -> None:
        self.case = case
        self.inputs = case.inputs()
        self.framework = case.framework
        if not self.inputs.tensors:
            raise NotCounted

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """The operator's tensors for other inputs."""
        found = {id(old): new for old, new in zip(self.inputs.tensors, tensors)}
        call = type("Call", (), {"args": self._put(self.inputs.args, found),
                                 "kwargs": self._put(self.inputs.kwargs, found)})
        results = tuple(self.case.tensors(self.case.call(call)))
        if not results:
            raise NotCounted
        return results

    def _put(self, node: Any, found: dict[int, Any]) -> Any:
        if id(node) in found:
            return found[id(node)]
        if isinstance(node, dict):
            return {key: self._put(value, found) for key, value in node.items()}
        if type(node) in (list, tuple):
            return type(node)(self._put(value, found) for value in node)
        if isinstance(node, slice):
            return slice(*(self._put(x, found) for x in (node.start, node.stop, node.step)))
        return node

    def examples(self) -> list[list[Any]]:
        """The tensors of each example, made afresh: an operator may write to them."""
        return [[x * factor if x.is_floating_point() or x.is_complex() else x.clone()
                 for x in self.case.inputs().tensors] for factor in FACTORS]


def compare(torch: Any, sample: Sample, random: bool) -> str | None:
    """What differs between vmap and a loop."""
    batch = [torch.stack(column) for column in zip(*sample.examples())]
    looped = [sample(*tensors) for tensors in sample.examples()]
    columns = list(zip(*looped))
    if any(len({tuple(x.shape) for x in column}) > 1 for column in columns):
        raise NotCounted
    found = torch.vmap(sample, randomness="different")(*batch)
    for i, (actual, column) in enumerate(zip(found, columns, strict=True)):
        expected = torch.stack(column)
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            return (f"result {i}: {actual.dtype} {list(actual.shape)}, not {expected.dtype} "
                    f"{list(expected.shape)}")
        if not random:
            wide = actual.dtype in (torch.float16, torch.bfloat16)
            tolerance = 2e-2 if wide else 2e-4
            torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return None


def chosen(op: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """The samples that are tried."""
    usual = [s for s in op["samples"] if s["dtype"] == "float32"]
    return (usual or op["samples"])[:most]


def attempt(check: Callable[[], str | None], seconds: int) -> str | None:
    """What is wrong, an exception's message included."""
    signal.alarm(seconds)
    try:
        return check()
    except NotCounted:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    finally:
        signal.alarm(0)


def _too_long(*_: Any) -> None:
    raise TimeoutError("took too long")


def measure(torch: Any, opdata: Any, names: Sequence[str], options: Any) -> dict[str, list[str]]:
    """For each operator that counts what failed, nothing where all passed."""
    framework = opdata.Framework(torch)
    found: dict[str, list[str]] = {}
    for name in names:
        store = opdata.Store.load(options.data, name)
        if not framework.has(store.op["kind"], store.op["name"]):
            continue
        for number, stored in enumerate(chosen(store.op, options.samples)):
            case, random = opdata.Case(framework, store, stored), bool(stored.get("random"))
            check = partial(lambda case, random: compare(torch, Sample(case), random), case, random)
            try:
                problem = attempt(check, options.timeout)
            except NotCounted:
                continue
            found.setdefault(name, [])
            if problem:
                found[name].append(f"#{number} {problem}")
    return found


def main() -> int:
    """Measure, and print what fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--harness", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--module", default="flambeau")
    parser.add_argument("--ops", default="")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--timeout", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    sys.path.insert(0, options.harness)
    signal.signal(signal.SIGALRM, _too_long)
    warnings.simplefilter("ignore")
    names = sorted(path.stem for path in Path(options.data).glob("*.json") if path.stem != "index")
    found = measure(importlib.import_module(options.module), importlib.import_module("opdata"),
                    [name for name in names if re.search(options.ops, name)], options)
    good = sum(not problems for problems in found.values())
    for name, problems in found.items():
        if problems:
            print(f"{name}: {problems[0]}")
    print(f"vmap equals a loop: {good} of {len(found)} operators ({100 * good / max(len(found), 1):.2f}%)")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if good >= LEAST * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
