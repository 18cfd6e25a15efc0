"""The cases: what each code block must do, told by functions that run it with the data it presumes.

A case gets the module that ``import torch`` yields and its block. Case files import nothing of a framework,
so that the tests can list the cases without one; the driver runs them in a child process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.guides.documents import Block, read

Check = Callable[[Any, Block], None]
NO_CUDA = "Torch not compiled with CUDA enabled"


@dataclass(frozen=True)
class Case:
    """A block and one claim about it."""

    block: Block
    check: Check

    @property
    def id(self) -> str:
        """``document/block::claim``."""
        return f"{self.block.id}::{self.check.__name__}"


CASES: dict[str, Case] = {}


def case(document: str, block: str) -> Callable[[Check], Check]:
    """Register a function as a case of a block."""

    def register(check: Check) -> Check:
        entry = Case(read(document)[block], check)
        assert entry.id not in CASES, entry.id
        CASES[entry.id] = entry
        return check

    return register


def load() -> dict[str, Case]:
    """Return every case by id."""
    from tests.guides import (  # noqa: F401  (importing them registers their cases)
        cases_advanced,
        cases_autograd,
        cases_notes,
        cases_practice,
        cases_research,
    )

    return CASES


class _Raised:
    """The exception that a ``with raises(...)`` block ended with."""

    value: BaseException


@contextmanager
def raises(kind: type[BaseException], message: str = "") -> Any:
    """Expect an exception of exactly this class whose text contains ``message``."""
    raised = _Raised()
    try:
        yield raised
    except kind as error:
        raised.value = error
        assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
        assert message in str(error), f"{message!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


@contextmanager
def cuda_is_here(torch: Any) -> Any:
    """Let ``.cuda()`` give back what it is called on, so that a GPU script's logic runs without one."""
    owners = (torch.Tensor, torch.nn.Module)
    before = [owner.cuda for owner in owners]
    for owner in owners:
        owner.cuda = lambda self, *args, **kwargs: self
    try:
        yield
    finally:
        for owner, method in zip(owners, before):
            owner.cuda = method


def classification(torch: Any, count: int, features: int, classes: int) -> tuple[Any, Any]:
    """Return inputs (N, F) and the classes (N) that a hidden linear map gives them."""
    inputs = torch.randn(count, features)
    return inputs, (inputs @ torch.randn(features, classes)).argmax(1)


def batches(inputs: Any, targets: Any, size: int) -> list[tuple[Any, Any]]:
    """Cut a data set into batches."""
    return [(inputs[i : i + size], targets[i : i + size]) for i in range(0, len(inputs), size)]
