"""``torch._dynamo.config``: the switches of PyTorch's tracing compiler.

Programs set them before they call ``torch.compile``. There is nothing to trace here, so they are kept and
change nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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


def patch_of(name: str) -> Callable[..., Any]:
    """``patch`` of the module of this name, which keeps switches."""
    @contextmanager
    def patch(changes: str | dict[str, Any] | None = None, value: Any = None, **more: Any) -> Iterator[None]:
        """Other values inside: ``patch(name=value)``, ``patch({"name": value})``, ``patch("name", 1)``."""
        wanted = {changes: value} if isinstance(changes, str) else dict(changes or {})
        wanted.update(more)
        module = sys.modules[name]
        before = {each: getattr(module, each) for each in wanted}
        for each, new in wanted.items():
            setattr(module, each, new)
        try:
            yield
        finally:
            for each, old in before.items():
                setattr(module, each, old)
    return patch


patch = patch_of(__name__)
