"""What ``compile`` refuses."""

from __future__ import annotations

from typing import Any

# Every one of these compiles as flambeau does: what is hot, without being asked.
BACKENDS = ("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner", "aot_ts",
            "cudagraphs", "eager", "eager_debug", "eager_noexcept", "inductor", "openxla", "openxla_eval",
            "pre_dispatch_eager", "tensorrt", "ts", "tvm")
_EXPLICIT = ("cudagraphs", "inductor", "openxla", "tvm")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class TorchDynamoException(RuntimeError):
    """Base class of the compiler's errors."""


class InvalidBackend(TorchDynamoException):
    """A backend that there is none of."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
                         "backends.")


class InternalTorchDynamoError(TorchDynamoException):
    """The tracing compiler failed: for ``except`` clauses, as nothing is traced here."""


class Unsupported(TorchDynamoException):
    """Something cannot be traced: for ``except`` clauses, as nothing is traced here."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised an error: for ``except`` clauses, as what compiles here is no backend."""

    def __init__(self, backend_fn: Any, inner_exception: Exception, first_useful_frame: Any = None) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception, self.first_useful_frame = inner_exception, first_useful_frame
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: "
                         f"{inner_exception}")


def check_backend(backend: Any) -> None:
    """Refuse a name that is no backend's."""
    if isinstance(backend, str) and backend not in BACKENDS:
        raise InvalidBackend(backend)


def check_mode(mode: str | None) -> None:
    """Refuse a name that is no mode's."""
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")


def list_backends(exclude_tags: tuple[str, ...] | None = ("debug", "experimental")) -> list[str]:
    """The names that ``compile(backend=...)`` takes."""
    return list(_EXPLICIT if exclude_tags else BACKENDS)
