"""Settings of ``torch.save`` and ``torch.load`` that hold for the whole process."""

from __future__ import annotations

from typing import Any


class _Options:
    """The one place that holds them."""

    def __init__(self) -> None:
        self.crc32 = True
        self.skip_data = False


options = _Options()


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``torch.save`` computes checksums of the records. Without them saving is faster, but programs
    other than ``torch.load`` take the archive for damaged."""
    options.crc32 = compute_crc32


def get_crc32_options() -> bool:
    """Whether ``torch.save`` computes checksums; True at the start."""
    return options.crc32


class skip_data:
    """Within the block ``torch.save`` leaves room for the bytes of tensors without writing them, and
    ``torch.load`` makes tensors without reading them.

    >>> import flambeau as torch; import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(3), file)
    >>> _ = file.seek(0); torch.load(file)
    tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors
        self._before = False

    def __enter__(self) -> None:
        self._before, options.skip_data = options.skip_data, True

    def __exit__(self, *exc: Any) -> None:
        options.skip_data = self._before
