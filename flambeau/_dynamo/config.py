"""``torch._dynamo.config``: the switches of PyTorch's tracing compiler.

Programs set them before they call ``torch.compile``. There is nothing to trace here, so they are kept and
change nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

accumulated_cache_size_limit = 256
accumulated_recompile_limit = 256
allow_rnn = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
recompile_limit = 8
specialize_int = False
suppress_errors = False
verbose = False


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch._dynamo.config.{name} does not exist")


@contextmanager
def patch(changes: str | dict[str, Any] | None = None, value: Any = None, **more: Any) -> Iterator[None]:
    """Other values inside: ``patch(name=value)``, ``patch({"name": value})`` or ``patch("name", value)``."""
    wanted = {changes: value} if isinstance(changes, str) else dict(changes or {})
    wanted.update(more)
    module = sys.modules[__name__]
    before = {name: getattr(module, name) for name in wanted}
    for name, each in wanted.items():
        setattr(module, name, each)
    try:
        yield
    finally:
        for name, each in before.items():
            setattr(module, name, each)
