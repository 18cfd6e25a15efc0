"""Checkpoints that lie: each row is a file and the error that loading it must give, with nothing run."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .hostile_files import (
    HUGE,
    ONES,
    archive,
    bomb,
    call,
    doubling_tuples,
    good,
    legacy,
    legacy_tensor,
    longer_than_file,
    nested_tuples,
    overlapping,
    tensor,
    torchscript,
    value,
    with_state,
    without_header,
    without_pickle,
)


@dataclass(frozen=True)
class Attack:
    """A file, and what loading it raises."""

    name: str
    build: Callable[[], bytes]
    error: type[BaseException]
    message: str


def _code(name: str, data: bytes, message: str) -> Attack:
    return Attack(name, lambda: archive(data), pickle.UnpicklingError, message)


CODE = [
    _code("os.system", call("os.system", "echo hacked"), "os.system whose module os is blocked"),
    _code("posix.system", call("posix.system", "echo hacked"), "posix.system whose module posix is blocked"),
    _code("sys.exit", call("sys.exit", 1), "sys.exit whose module sys is blocked"),
    _code("eval", call("builtins.eval", "1/0"), "Unsupported global: GLOBAL eval"),
    _code("exec in Python 2's module", call("__builtin__.exec", "1/0"), "GLOBAL exec"),
    _code("getattr", call("builtins.getattr", "x", "join"), "GLOBAL getattr"),
    _code("subprocess", call("subprocess.Popen", ["true"]), "GLOBAL subprocess.Popen"),
    _code("functools.partial", call("functools.partial", 1), "GLOBAL functools.partial"),
    _code(
        "import by a dotted name",
        b"\x80\x04\x8c\x05torch\x8c\x17serialization.os.system\x93.",
        "Unsupported global",
    ),
    _code("a module of the framework", call("torch.hub.load", "x"), "GLOBAL torch.hub.load"),
    _code("load within load", call("torch.load", "x"), "GLOBAL torch.load"),
    _code("private functions", call("torch._utils.import_module", "os"), "Unsupported global"),
    _code("STACK_GLOBAL", b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "blocked"),
    _code("INST", b"\x80\x02(X\x01\0\0\0aios\nsystem\n.", "Unsupported operand 105"),
    _code("OBJ", b"\x80\x02(ccollections\nOrderedDict\no.", "Unsupported operand 111"),
    _code("EXT1", b"\x80\x02\x82\x01.", "Unsupported operand 130"),
    _code("EXT2", b"\x80\x02\x83\x01\x01.", "Unsupported operand 131"),
    _code("EXT4", b"\x80\x02\x84\x01\x01\x01\x01.", "Unsupported operand 132"),
    _code("out-of-band buffers", b"\x80\x05\x97.", "Unsupported operand 151"),
    _code("an unknown opcode", b"\x80\x02\xff.", "Unsupported operand 255"),
    _code("an unknown protocol", b"\x80\x63.", "unsupported pickle protocol"),
    _code("BUILD on a class", b"\x80\x02ctorch\nSize\n}X\x01\0\0\0aK\x01sb.", "Can only build"),
    _code(
        "BUILD on a function",
        b"\x80\x02ctorch._utils\n_rebuild_tensor\n}X\x01\0\0\0aK\x01sb.",
        "Can only build",
    ),
    _code("BUILD on a dict", b"\x80\x02}}X\x01\0\0\0aK\x01sb.", "Can only build"),
    Attack(
        "BUILD on a tensor",
        lambda: archive(tensor()[:-1] + b"}X\x08\0\0\0_storageK\x01sb.", _0=ONES),
        pickle.UnpicklingError,
        "Can only build",
    ),
    _code(
        "items of a class",
        b"\x80\x02ctorch\nTensor\nX\x01\0\0\0aK\x01s.",
        "items can be added to a dict only",
    ),
    _code("append to a class", b"\x80\x02ctorch\nSize\nK\x01a.", "items can be added to a list only"),
    _code("calling a number", b"\x80\x02K\x01)R.", "unrecognized function 1"),
    _code("calling a string's method", b"\x80\x02X\x01\0\0\0a)R.", "unrecognized function"),
    _code("a new object of a class", b"\x80\x02ctorch\nTensor\n)\x81.", "create new object"),
]

MEMORY = [
    _code("a large tensor by its class", call("torch.Tensor", 2**40), "unrecognized function"),
    _code("a large bytearray", call("builtins.bytearray", 2**40), "bytearray is only allowed"),
    _code("a large BYTEARRAY8", b"\x80\x05\x96" + struct.pack("<Q", 2**45) + b"a.", "truncated"),
    Attack(
        "a large FRAME",
        lambda: archive(b"\x80\x04\x95" + struct.pack("<Q", 2**45) + b"K\x01"),
        EOFError,
        "early",
    ),
    Attack(
        "a large BINUNICODE",
        lambda: archive(b"\x80\x02X" + struct.pack("<I", 2**31) + b"a."),
        EOFError,
        "early",
    ),
    _code("a long deep key", b"\x80\x02}" + nested_tuples(200_000) + b"K\x01s.", "too many parts"),
    _code("a key that doubles", b"\x80\x02}" + doubling_tuples(64) + b"K\x01s.", "too many parts"),
    _code("a set of keys that double", b"\x80\x04\x8f(" + doubling_tuples(64) + b"\x90.", "too many parts"),
    _code(
        "a set made by a call",
        b"\x80\x02cbuiltins\nset\n" + doubling_tuples(64) + b"\x85\x85R.",
        "too many parts",
    ),
    _code(
        "a device that doubles",
        b"\x80\x02ctorch\ndevice\n" + doubling_tuples(64) + b"\x85R.",
        "device is made",
    ),
    _code("an id that doubles", b"\x80\x02" + doubling_tuples(64) + b"Q.", "persistent_load"),
    _code("a call that doubles", b"\x80\x02" + doubling_tuples(64) + b")R.", "unrecognized function"),
]

PICKLES = [
    Attack("an empty pickle", lambda: archive(b""), EOFError, "ends too early"),
    Attack("no end", lambda: archive(b"\x80\x02}"), EOFError, "ends too early"),
    _code("an empty stack", b"\x80\x02a.", "IndexError"),
    _code("an unknown memo", b"\x80\x02h\x05.", "Memo|KeyError"),
    _code("an id that is no tuple", b"\x80\x02K\x01Q.", "saved_id must be a tuple"),
    _code("an id in text", b"\x80\x02Pabc\n.", "saved_id must be a tuple"),
    _code("an id of a module", tensor(tag="module"), "Only persistent_load of storage is allowed"),
    _code("a code page", call("_codecs.encode", "a", "rot13"), "latin1"),
    _code("too many arguments", call("torch.Size", 1, 2), "TypeError"),
    _code("no such function", tensor(function="_rebuild_nothing"), "_rebuild_nothing"),
    Attack(
        "a parameter of a number",
        lambda: archive(call("torch._utils._rebuild_parameter", 1, True, None)),
        RuntimeError,
        "not a tensor",
    ),
    Attack(
        "a parameter's private attributes",
        lambda: archive(
            b"\x80\x02ctorch._utils\n_rebuild_parameter_with_state\n("
            + tensor()[2:-1]
            + b"\x88N"
            + value({"_geometry": 1})
            + b"tR.",
            _0=ONES,
        ),
        RuntimeError,
        "not its user's",
    ),
]


def _bad(
    name: str,
    message: str,
    error: type[BaseException] = RuntimeError,
    data: bytes | None = ONES,
    **described: Any,
) -> Attack:
    records = {} if data is None else {"_0": data}
    return Attack(name, lambda: archive(tensor(**described), **records), error, message)


TENSORS = [
    _bad("no record", "failed locating file data/0", data=None),
    _bad("a key that leaves the folder", "failed locating file data/../version", key="../version"),
    _bad("a key that is no text", "described by something else", pickle.UnpicklingError, key=3),
    _bad("a short record", r"record size \(8 bytes\) does not match expected size \(16 bytes", data=ONES[:8]),
    _bad("a long record", r"record size \(32 bytes\) does not match", data=ONES * 2),
    _bad("a negative number of elements", "described by something else", pickle.UnpicklingError, numel=-1),
    _bad("too many elements", "does not match expected size", numel=2**60),
    _bad("more elements than a computer can have", "described", pickle.UnpicklingError, numel=10**30),
    _bad("elements that are no number", "described", pickle.UnpicklingError, numel=4.0),
    _bad("an unknown storage type", "torch.Foo", pickle.UnpicklingError, kind="Foo"),
    _bad("a storage type that is none", "described", pickle.UnpicklingError, kind="Tensor"),
    _bad("an unknown location", "don't know how to restore data location", location="moon"),
    _bad("a location that is no text", "described", pickle.UnpicklingError, location=3),
    _bad("a location without such a device", "torch.cuda.is_available", location="cuda:0"),
    _bad("an offset beyond the end", "out of bounds for storage of size 16", offset=1),
    _bad("a negative offset", "invalid storage offset -1", offset=-1),
    _bad("a size beyond the end", "out of bounds", size=(5,)),
    _bad("a negative size", "negative", size=(-5,)),
    _bad("a size that overflows", "overflow", size=(HUGE, HUGE), stride=(0, 0)),
    _bad("a stride beyond the end", "out of bounds", stride=(2,)),
    _bad("a stride that overflows", "out of bounds|overflow", stride=(HUGE * 4,)),
    _bad("a negative stride", "negative", stride=(-1,)),
    _bad("unequal lengths", "unequal size length", stride=(1, 1)),
    _bad("too many dimensions", "1000 dimensions", size=(1,) * 1000, stride=(1,) * 1000),
    _bad("a size of text", "must be integers", size="abc", stride=(1, 1, 1)),
    _bad("a size of floats", "must be integers", size=(1.5,)),
    _bad("a size that is a number", "TypeError", pickle.UnpicklingError, size=4),
    Attack(
        "private attributes",
        lambda: archive(with_state(value({"_geometry": 1})), _0=ONES),
        RuntimeError,
        "not its user's",
    ),
    Attack(
        "attributes that are a list",
        lambda: archive(with_state(value([1])), _0=ONES),
        RuntimeError,
        "not a dictionary",
    ),
    Attack(
        "a tensor of something else",
        lambda: archive(
            b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nbytearray\nctorch\nTensor\n)}tR."
        ),
        RuntimeError,
        "something else than a function for it",
    ),
    Attack(
        "another tensor's storage by another dtype",
        lambda: archive(tensor(kind="DoubleStorage", numel=2, size=(4,)), _0=ONES),
        RuntimeError,
        "out of bounds",
    ),
    Attack(
        "a meta tensor that overflows",
        lambda: archive(
            b"\x80\x02ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n"
            + value((HUGE, HUGE))
            + value((1, 1))
            + b"\x89tR."
        ),
        RuntimeError,
        "overflow",
    ),
]

FILES = [
    Attack("an empty file", lambda: b"", EOFError, "the file is empty"),
    Attack("something else", lambda: b"hello world", pickle.UnpicklingError, "Invalid magic number"),
    Attack("a header alone", lambda: b"PK\3\4hello", RuntimeError, "failed reading zip archive"),
    Attack("no checkpoint", without_pickle, RuntimeError, "failed locating file data.pkl"),
    Attack("TorchScript", torchscript, RuntimeError, "TorchScript"),
    Attack(
        "an unknown byte order",
        lambda: archive(tensor(), byteorder="weird", _0=ONES),
        ValueError,
        "Unknown endianness type: weird",
    ),
    Attack("a record longer than the file", longer_than_file, RuntimeError, "more bytes than the file has"),
    Attack("records that overlap", overlapping, RuntimeError, "more bytes than the file has|has no header"),
    Attack("a record without header", without_header, RuntimeError, "has no header"),
    Attack("a compressed bomb", bomb, RuntimeError, "compressed bytes claim to be"),
    *[
        Attack(
            f"cut after {part}%",
            lambda part=part: good()[: len(good()) * part // 100],  # type: ignore[misc]
            RuntimeError,
            "failed reading zip archive",
        )
        for part in (10, 50, 80, 95, 99)
    ],
]


LEGACY = [
    Attack(
        "old: unknown version",
        lambda: legacy(legacy_tensor(), version=7),
        RuntimeError,
        "Invalid protocol version: 7",
    ),
    Attack(
        "old: a storage larger than the file",
        lambda: legacy(legacy_tensor(numel=2**50)),
        pickle.UnpicklingError,
        "larger than the file",
    ),
    Attack("old: no bytes", lambda: legacy(legacy_tensor()), RuntimeError, "larger than|no bytes"),
    Attack(
        "old: bytes end early",
        lambda: legacy(legacy_tensor(), ("0", 4, ONES[:9])),
        RuntimeError,
        "unexpected end",
    ),
    Attack(
        "old: another size",
        lambda: legacy(legacy_tensor(), ("0", 2**40, ONES)),
        RuntimeError,
        "wrong byte size",
    ),
    Attack(
        "old: a key twice",
        lambda: legacy(legacy_tensor(), ("0", 4, ONES), ("1", 4, ONES)),
        pickle.UnpicklingError,
        "nothing names",
    ),
    Attack("old: code", lambda: legacy(call("os.system", "echo hacked")), pickle.UnpicklingError, "blocked"),
    Attack(
        "old: a tar archive",
        lambda: bytes(257) + b"ustar" + bytes(250),
        pickle.UnpicklingError,
        "tar archive",
    ),
    Attack(
        "old: a tensor beyond the end",
        lambda: legacy(legacy_tensor(size=(9,)), ("0", 4, ONES)),
        RuntimeError,
        "out of bounds",
    ),
]

ATTACKS = [*CODE, *MEMORY, *PICKLES, *TENSORS, *FILES, *LEGACY]
