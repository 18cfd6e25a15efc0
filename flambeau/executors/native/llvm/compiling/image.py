"""Machine code from an object file into memory, without LLVM.

LLVM makes objects for its "large" code model: their code names every other place by an absolute address of 64
bits. So an object is loaded by laying its sections one after the other and writing those addresses. What is
not such an object (another file format, processor or relocation) is left to LLVM's own linker.

Note: memory is written or executed, never both. An image lies in pages of its own, which become executable
when it is complete.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_ELF64 = b"\x7fELF\x02\x01"     # 64 bits, little-endian
_X86_64 = 62
_ABSOLUTE = 1                   # R_X86_64_64: the symbol's address and an addend
_SYMBOLS, _RELOCATIONS = 2, 4   # kinds of sections
_WRITTEN, _PRESENT = 1, 2       # flags of sections
_UNDEFINED, _RESERVED = 0, 0xFF00
_GLOBAL, _FUNCTION = 1, 2


class Image(NamedTuple):
    """Code in memory: where its functions are. It is freed with ``memory``."""

    addresses: dict[str, int]
    memory: mmap.mmap


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


def load(content: bytes) -> Image | None:
    """An object's code, ready to be called; None where it is not for this loader."""
    if not content.startswith(_ELF64) or sys.byteorder != "little":
        return None
    header = _HEADER.unpack_from(content)
    machine, table, count = header[2], header[6], header[12]
    if machine != _X86_64:
        return None
    sections = [_Section(*_SECTION.unpack_from(content, table + k * _SECTION.size)) for k in range(count)]
    if any(s.flags & _PRESENT and (s.flags & _WRITTEN or s.kind != 1) for s in sections):
        return None     # variables: there are none in kernels
    places, size = _places(sections)
    memory = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for k, place in places.items():
        memory[place:place + sections[k].size] = _bytes_of(content, sections[k])
    symbols = next((s for s in sections if s.kind == _SYMBOLS), None)
    if symbols is None:
        return None
    starts = {k: base + place for k, place in places.items()}
    known = _Symbols(content, symbols, sections[symbols.link].offset, starts)
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in places \
                and not _relocate(memory, places[section.info], content, section, known):
            return None
    if not _make_executable(base, len(memory)):
        return None
    return Image(known.functions(), memory)


def _bytes_of(content: bytes, section: _Section) -> bytes:
    return content[section.offset:section.offset + section.size]


def _places(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Where the sections that are needed at run time lie, and the size of them all."""
    places, size = {}, 0
    for k, section in enumerate(sections):
        if section.flags & _PRESENT:
            size = -(-size // max(section.align, 1)) * max(section.align, 1)
            places[k] = size
            size += section.size
    return places, size


class _Symbols:
    """The names of an object and their addresses."""

    def __init__(self, content: bytes, table: _Section, names: int, starts: dict[int, int]) -> None:
        self.content = content
        self.names = names
        self.starts = starts
        self.entries = list(_SYMBOL.iter_unpack(_bytes_of(content, table)))

    def name(self, k: int) -> str:
        start = self.names + self.entries[k][0]
        return self.content[start:self.content.index(b"\0", start)].decode()

    def address(self, k: int) -> int | None:
        """Where symbol k is: in this image, or in the C library. None if nobody knows."""
        _, _, _, section, value, _ = self.entries[k]
        if section == _UNDEFINED:
            return _of_process(self.name(k))
        start = self.starts.get(section)
        return None if start is None or section >= _RESERVED else start + value

    def functions(self) -> dict[str, int]:
        """The functions that others may call."""
        return {self.name(k): self.starts[section] + value
                for k, (_, info, _, section, value, _) in enumerate(self.entries)
                if info == _GLOBAL << 4 | _FUNCTION and section in self.starts}


def _relocate(memory: mmap.mmap, start: int, content: bytes, section: _Section, symbols: _Symbols) -> bool:
    for place, info, addend in _RELOCATION.iter_unpack(_bytes_of(content, section)):
        address = symbols.address(info >> 32)
        if info & 0xFFFFFFFF != _ABSOLUTE or address is None:
            return False
        struct.pack_into("<Q", memory, start + place, (address + addend) % (1 << 64))
    return True


_process: ctypes.CDLL | None = None


def _library() -> ctypes.CDLL:
    """What is loaded into this process: the C library among others."""
    global _process
    if _process is None:
        _process = ctypes.CDLL(None)
    return _process


def _of_process(name: str) -> int | None:
    try:
        return ctypes.cast(_library()[name], ctypes.c_void_p).value
    except AttributeError:
        return None


def _make_executable(address: int, size: int) -> bool:
    protect = _library().mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return int(protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC)) == 0
