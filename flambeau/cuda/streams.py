"""Streams, events and graphs of CUDA: without a device none can be made, as in a PyTorch without CUDA."""

from __future__ import annotations

from typing import Any


class Stream:
    """A queue of work on a device."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Stream:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a stream."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Event:
        raise RuntimeError("Tried to instantiate dummy base class Event")


class CUDAGraph:
    """A recorded sequence of kernels."""

    def __new__(cls, *args: Any, **kwargs: Any) -> CUDAGraph:
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")


class graph:
    """Records into a CUDAGraph inside."""

    def __new__(cls, *args: Any, **kwargs: Any) -> graph:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class OutOfMemoryError(RuntimeError):
    """The device's memory is exhausted."""


def is_current_stream_capturing() -> bool:
    """Whether a graph is being recorded: no."""
    return False


class StreamContext:
    """Chooses a stream inside; with None, as where there is no device, it does nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """The context manager that chooses a stream."""
    return StreamContext(stream)
