"""Messages from a worker to the process that iterates: pickles, with the data of arrays beside them.

Note: segments. Large buffers travel in segments of shared memory. A segment has no name, so nothing remains
of it when both processes are gone, however they ended; its descriptor is sent with the first message that
uses it. Collating in a worker stacks samples right in a segment (``lend``); other buffers are copied there.
The receiver makes tensors directly on the mapped memory. When the last of them is gone, the number of the
segment goes back to the worker with the next task, and the worker fills the same memory again: no page is
ever faulted in twice, and what is held in memory is bounded by what the user holds and the batches under way.
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
from .segments import HAS_SEGMENTS, SMALLEST, Place, Segments
from .tensors import from_bytes, to_bytes

_LENGTH = struct.Struct("<I")


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


def encoded(data: Any) -> tuple[memoryview, list[memoryview]]:
    """An object as a pickle, and the buffers of its tensors and arrays that are worth a segment."""
    buffers: list[memoryview] = []

    def in_band(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if not HAS_SEGMENTS or raw.nbytes < SMALLEST:
            return True
        buffers.append(raw)
        return False

    stream = io.BytesIO()
    _Pickler(stream, 5, buffer_callback=in_band).dump(data)
    return stream.getbuffer(), buffers


class Sender:
    """The worker's end: encodes objects, and owns the segments."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.segments = Segments()

    def send(self, header: Any, data: Any) -> None:
        """Send an object under a header."""
        stream, buffers = encoded(data)
        places = self.segments.place(buffers)
        new = self.segments.take_unsent({segment for segment, _, _ in places})
        meta = pickle.dumps((header, places, list(new)), 5)
        self.connection.send_bytes(_LENGTH.pack(len(meta)) + meta + stream)
        if new:
            from multiprocessing.reduction import send_handle

            for descriptor in new.values():
                send_handle(self.connection, descriptor, None)
                os.close(descriptor)


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
        header, places, new = pickle.loads(message[_LENGTH.size : _LENGTH.size + length])
        for segment in new:
            self._map(segment)
        return header, pickle.loads(message[_LENGTH.size + length :], buffers=self._buffers(places))

    def _map(self, segment: int) -> None:
        from multiprocessing.reduction import recv_handle

        descriptor = recv_handle(self.connection)
        self.segments[segment] = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        os.close(descriptor)

    def _buffers(self, places: Sequence[Place]) -> list[memoryview]:
        whole: dict[int, Any] = {}
        for segment, _, _ in places:
            if segment not in whole:
                whole[segment] = np.frombuffer(self.segments[segment], np.uint8)
                # Every array made from the parts keeps it alive; when it goes, so may the content.
                weakref.finalize(whole[segment], self.released.append, segment).atexit = False
        return [memoryview(whole[segment][start : start + size]) for segment, start, size in places]

    def take_released(self) -> list[int]:
        """The segments that the worker may fill again."""
        taken = self.released[:]
        del self.released[: len(taken)]
        return taken


__all__ = ["HAS_SEGMENTS", "Receiver", "Sender"]
