"""``torch.Stream`` and ``torch.Event``: queues of work and marks in them. The CPU does its work in order."""

from __future__ import annotations

from typing import Any

from . import engine
from .devices import device as _device


def _cpu(name: str, device: Any) -> _device:
    found = _device("cpu" if device is None else device)
    if found.type != "cpu":
        raise RuntimeError(f"torch.{name}: there is no device of type '{found.type}'")
    return found


class Stream:
    """A queue of work on a device.

    >>> import flambeau as torch
    >>> torch.Stream("cpu").query()
    True
    """

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _cpu("Stream", device)
        self.stream_id, self.device_type, self.device_index = 0, 0, -1

    def query(self) -> bool:
        """Whether all its work is done: yes."""
        return True

    def synchronize(self) -> None:
        """Compute everything that is pending."""
        engine.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """A mark after the work so far."""
        return Event(self.device) if event is None else event

    def wait_event(self, event: Event) -> None:
        """Accepted: work is done in order."""

    def wait_stream(self, stream: Stream) -> None:
        """Accepted: work is done in order."""

    def is_capturing(self) -> bool:
        """Whether work is recorded and not done: no."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A mark in a stream. There are no times between them on the CPU."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        self.device, self.event_id = _cpu("Event", device), 0

    def query(self) -> bool:
        """Whether what came before is done: yes."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Raises: the CPU has no events."""
        raise RuntimeError("cpu backend doesn't support events.")

    def wait(self, stream: Stream | None = None) -> None:
        """Accepted: work is done in order."""

    def synchronize(self) -> None:
        """Compute everything that is pending."""
        engine.synchronize()

    def elapsed_time(self, other: Event) -> float:
        """Raises: the CPU measures no times."""
        raise RuntimeError("Backend doesn't support elapsedTime.")

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
