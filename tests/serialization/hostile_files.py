"""Checkpoints built byte by byte, so that no tool has to be trusted to write them."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from typing import Any

ONES = struct.pack("<4f", 1, 1, 1, 1)
HUGE = 2**62


def archive(
    data: bytes, byteorder: str = "little", compression: int = zipfile.ZIP_STORED, **records: bytes
) -> bytes:
    """A checkpoint with this pickle and these records (``_0`` is ``data/0``)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        file.writestr("a/data.pkl", data)
        file.writestr("a/version", "3\n")
        file.writestr("a/byteorder", byteorder)
        for name, record in records.items():
            file.writestr("a/data/" + name[1:], record)
    return buffer.getvalue()


def value(obj: Any) -> bytes:
    """The opcodes that push a plain object."""
    return pickle.dumps(obj, 2)[2:-1]


def storage(
    kind: str = "FloatStorage", key: Any = "0", location: Any = "cpu", numel: Any = 4, tag: Any = "storage"
) -> bytes:
    """The opcodes that name a storage."""
    return (
        b"(" + value(tag) + f"ctorch\n{kind}\n".encode() + value(key) + value(location) + value(numel) + b"tQ"
    )


def tensor(
    offset: Any = 0,
    size: Any = (4,),
    stride: Any = (1,),
    function: str = "_rebuild_tensor_v2",
    **described: Any,
) -> bytes:
    """A pickle of one tensor."""
    call = f"ctorch._utils\n{function}\n(".encode()
    arguments = storage(**described) + value(offset) + value(size) + value(stride)
    return b"\x80\x02" + call + arguments + b"\x89ccollections\nOrderedDict\n)RtR."


def with_state(state: bytes) -> bytes:
    """A pickle of a tensor with attributes."""
    inner = tensor()[2:-1]
    assert inner.endswith(b"tR")
    function, _, arguments = inner.partition(b"(")
    head = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n("
    return head + function + b"ctorch\nTensor\n(" + arguments[:-1] + state + b"tR."


def call(name: str, *arguments: Any) -> bytes:
    """A pickle that calls a global."""
    module, _, function = name.rpartition(".")
    return b"\x80\x02c" + f"{module}\n{function}\n".encode() + value(tuple(arguments)) + b"R."


def good() -> bytes:
    """An honest file."""
    return archive(tensor(), _0=ONES)


def longer_than_file() -> bytes:
    """A stored record whose headers say that it has 2**30 bytes."""
    data = bytearray(archive(tensor(numel=2**28), _0=ONES))
    place = data.rfind(b"PK\x01\x02", 0, data.rfind(b"a/data/0"))
    data[place + 20 : place + 28] = struct.pack("<II", 2**30, 2**30)
    return bytes(data)


def overlapping() -> bytes:
    """Many directory entries for one record: each would be read again."""
    data = bytearray(archive(tensor(), _0=ONES * 1000, _1=ONES, _2=ONES))
    for name in (b"a/data/1", b"a/data/2"):
        place = data.rfind(b"PK\x01\x02", 0, data.rfind(name))
        data[place + 20 : place + 28] = struct.pack("<II", 16000, 16000)
    return bytes(data)


def without_header() -> bytes:
    """A directory entry that points to something else."""
    data = bytearray(good())
    place = data.rfind(b"PK\x03\x04", 0, data.find(ONES))
    data[place : place + 4] = b"XXXX"
    return bytes(data)


def bomb() -> bytes:
    """A small compressed record that unpacks to 256 MiB."""
    zeros = bytes(2**28)
    return archive(tensor(numel=2**26, size=(2**26,)), compression=zipfile.ZIP_DEFLATED, _0=zeros)


def without_pickle() -> bytes:
    """A zip archive that is no checkpoint."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a/letter.txt", "hello")
    return buffer.getvalue()


def torchscript() -> bytes:
    """An archive as torch.jit.save writes."""
    buffer = io.BytesIO(good())
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("a/constants.pkl", b"\x80\x02).")
    return buffer.getvalue()


def nested_tuples(depth: int) -> bytes:
    """The opcodes of a tuple in a tuple in a tuple ..."""
    return b")" + b"\x85" * depth


def doubling_tuples(depth: int) -> bytes:
    """The opcodes of a tuple with 2**depth parts, each level twice in the next."""
    return b")" + b"2\x86" * depth


def legacy(body: bytes, *storages: tuple[str, int, bytes], version: int = 1001) -> bytes:
    """A file in the format before PyTorch 1.6."""
    parts = [pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.dumps(version, 2), pickle.dumps({}, 2), body]
    parts.append(pickle.dumps([key for key, _, _ in storages], 2))
    parts += [struct.pack("<q", count) + data for _, count, data in storages]
    return b"".join(parts)


def legacy_tensor(**described: Any) -> bytes:
    """The pickle of a tensor in the old format, where ids of storages have one item more."""
    return tensor(**described).replace(b"tQ", b"NtQ")
