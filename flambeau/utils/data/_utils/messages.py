"""Messages from a worker to the process that iterates: pickles, with the data of arrays beside them.

Note: segments. Large buffers travel in segments of shared memory. A segment has no name, so nothing remains
of it when both processes are gone, however they ended; its descriptor is sent with the first message that
uses it. The receiver makes tensors directly on the mapped memory. When the last of them is gone, the number
of the segment goes back to the worker with the next task, and the worker fills the same memory again: no page
is ever faulted in twice, and what is held in memory is bounded by what the user holds and the batches under
way.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....tensor import Tensor
from .tensors import from_bytes, to_bytes

# Smaller buffers go through the pipe with the pickle.
SMALLEST = 4096
ALIGNMENT = 64
_LENGTH = struct.Struct("<I")
# Where there is no unnamed memory to share (macOS, Windows), everything goes through the pipe.
HAS_SEGMENTS = hasattr(os, "memfd_create")


def _rebuild_tensor(data: Any, kind: Any, shape: tuple[int, ...], requires_grad: bool) -> Tensor:
    # What came through the pipe is read-only bytes.
    tensor = from_bytes(bytearray(data) if isinstance(data, bytes) else data, kind, shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_subclass(cls: type, attributes: dict[str, Any], *fields: Any) -> Any:
    from ....nn import Parameter  # nn imports utils

    plain = _rebuild_tensor(*fields)
    made: Any = Parameter(plain, fields[-1]) if issubclass(cls, Parameter) else plain.as_subclass(cls)
    made.__dict__.update(attributes)
    return made


class _Pickler(pickle.Pickler):
    """Tensors by their bytes; functions of modules by name, as pickle does."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
                "does not support crossing process boundaries.  If you just want to transfer the "
                "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
            )
        fields = pickle.PickleBuffer(to_bytes(obj)), obj.dtype, tuple(obj.shape), obj.requires_grad
        if type(obj) is Tensor:
            return _rebuild_tensor, fields
        return _rebuild_subclass, (type(obj), _public(obj), *fields)


def _public(obj: Any) -> dict[str, Any]:
    return {name: value for name, value in getattr(obj, "__dict__", {}).items() if not name.startswith("_")}


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class Sender:
    """The worker's end: encodes objects, and owns the segments."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.segments: list[mmap.mmap] = []
        self.free: set[int] = set()

    def send(self, header: Any, data: Any) -> None:
        """Send an object under a header."""
        buffers: list[pickle.PickleBuffer] = []

        def out_of_band(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if not HAS_SEGMENTS or raw.nbytes < SMALLEST:
                return True
            buffers.append(buffer)
            return False

        stream = io.BytesIO()
        _Pickler(stream, 5, buffer_callback=out_of_band).dump(data)
        views = [buffer.raw() for buffer in buffers]
        sizes = [view.nbytes for view in views]
        segment, descriptor = self._segment(sum(map(_aligned, sizes))) if sizes else (None, None)
        if segment is not None:
            self._fill(segment, views)
        meta = pickle.dumps((header, segment, descriptor is not None, sizes), 5)
        self.connection.send_bytes(_LENGTH.pack(len(meta)) + meta + stream.getbuffer())
        if descriptor is not None:
            from multiprocessing.reduction import send_handle

            send_handle(self.connection, descriptor, None)
            os.close(descriptor)

    def _segment(self, size: int) -> tuple[int, int | None]:
        """A free segment that is large enough but not much too large, or a new one with its descriptor."""
        fitting = [number for number in self.free if size <= len(self.segments[number]) <= 4 * size]
        if fitting:
            best = min(fitting, key=lambda number: len(self.segments[number]))
            self.free.discard(best)
            return best, None
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        descriptor = os.memfd_create("flambeau-batch")
        os.ftruncate(descriptor, size)
        self.segments.append(mmap.mmap(descriptor, size))
        return len(self.segments) - 1, descriptor

    def _fill(self, segment: int, views: Sequence[memoryview]) -> None:
        target = np.frombuffer(self.segments[segment], np.uint8)
        start = 0
        for view in views:
            target[start : start + view.nbytes] = np.frombuffer(view, np.uint8)
            start += _aligned(view.nbytes)

    def release(self, numbers: Sequence[int]) -> None:
        """Take back segments that the receiver has done with."""
        self.free.update(numbers)


class Receiver:
    """The other end: decodes messages, and notes the segments that may go back in `released`."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.segments: dict[int, mmap.mmap] = {}
        self.released: list[int] = []

    def receive(self) -> tuple[Any, Any]:
        """The next header and object; ``EOFError`` when the worker is gone."""
        message = memoryview(self.connection.recv_bytes())
        length = _LENGTH.unpack_from(message)[0]
        header, segment, is_new, sizes = pickle.loads(message[_LENGTH.size : _LENGTH.size + length])
        if is_new:
            self._map(segment)
        buffers = self._buffers(segment, sizes) if segment is not None else ()
        return header, pickle.loads(message[_LENGTH.size + length :], buffers=buffers)

    def _map(self, segment: int) -> None:
        from multiprocessing.reduction import recv_handle

        descriptor = recv_handle(self.connection)
        self.segments[segment] = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        os.close(descriptor)

    def _buffers(self, segment: int, sizes: Sequence[int]) -> list[memoryview]:
        whole: Any = np.frombuffer(self.segments[segment], np.uint8)
        # Every array made from the parts keeps `whole` alive; when it goes, so may the content.
        finalizer = weakref.finalize(whole, self.released.append, segment)
        finalizer.atexit = False
        buffers, start = [], 0
        for size in sizes:
            buffers.append(memoryview(whole[start : start + size]))
            start += _aligned(size)
        return buffers

    def take_released(self) -> list[int]:
        """The segments that the worker may fill again."""
        taken = self.released[:]
        del self.released[: len(taken)]
        return taken


__all__ = ["HAS_SEGMENTS", "Receiver", "Sender"]
