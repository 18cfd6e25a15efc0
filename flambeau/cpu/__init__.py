"""``torch.cpu``: the processor, with the same functions as other devices."""

from __future__ import annotations

from typing import Any

from .. import engine
from . import amp

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count",
           "is_available", "is_initialized", "set_device", "stream", "synchronize"]


class Stream:
    """A queue of work: the processor has one, which does nothing by itself."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Accepted: work is done in order."""

    def record_event(self) -> None:
        """Accepted: work is done in order."""

    def wait_event(self, event: Event) -> None:
        """Accepted: work is done in order."""


class Event:
    """A mark in a stream.

    >>> import flambeau as torch
    >>> event = torch.cpu.Event()
    >>> event.query()
    True
    """

    def query(self) -> bool:
        """Whether what came before is done: yes."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Accepted: work is done in order."""

    def synchronize(self) -> None:
        """Accepted: work is done in order."""

    def wait(self, stream: Stream | None = None) -> None:
        """Accepted: work is done in order."""


class StreamContext:
    """Chooses a stream inside: all work is done in order."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


_current = Stream()


def is_available() -> bool:
    """Whether there is a processor: yes.

    >>> import flambeau as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether the processor can be used: yes.

    >>> import flambeau as torch
    >>> torch.cpu.is_initialized()
    True
    """
    return True


def synchronize(device: Any = None) -> None:
    """Compute everything that is pending.

    >>> import flambeau as torch
    >>> torch.cpu.synchronize()
    """
    engine.synchronize()


def current_stream(device: Any = None) -> Stream:
    """The stream in use."""
    return _current


def stream(stream: Stream | None) -> StreamContext:
    """The context manager that chooses a stream.

    >>> import flambeau as torch
    >>> with torch.cpu.stream(torch.cpu.Stream()):
    ...     x = torch.ones(2)
    >>> x
    tensor([1., 1.])
    """
    return StreamContext(stream)


def device_count() -> int:
    """How many processors there are to choose from.

    >>> import flambeau as torch
    >>> torch.cpu.device_count()
    1
    """
    return 1


def set_device(device: Any) -> None:
    """Accepted: there is one processor."""


def current_device() -> str:
    """The processor's name.

    >>> import flambeau as torch
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"
