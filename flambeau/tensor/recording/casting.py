"""Automatic mixed precision: which operators change the type of what they are given, and how.

Note: autocast. PyTorch's lists for the CPU are in this file, whole. Products of matrices are lowered where
they are recorded, so that whatever is built of them is, too: once autocast was switched on, the signatures of
``OPERATORS`` are kept in ``guarded`` and not in record's table, whose misses come here. The others are
lowered or widened where they are public (``policy_of``): what is inside of such a function sees no autocast,
as in PyTorch. Programs without autocast pay nothing for the first kind, and a comparison for the second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ... import dtypes
from ...devices import CPU
from ...graph.recent import Recent
from ..tape import state as grad_state
from ..tensor import Tensor

# Recorded in the lower type.
OPERATORS = frozenset(("mm", "bmm", "matmul", "addmm", "addbmm", "baddbmm", "linear"))
# Public functions whose arguments are cast to the lower type.
LOWERED = frozenset((
    "nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose1d",
    "nn.functional.conv_transpose2d", "nn.functional.conv_transpose3d", "nn.functional.prelu",
    "nn.functional.scaled_dot_product_attention", "torch.conv_tbc", "linalg.vecdot"))
# Public functions whose 16-bit arguments are cast to float32.
WIDENED = frozenset(
    [f"fft.{name}" for name in (
        "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2", "rfftn",
        "irfftn", "hfft", "ihfft")]
    + [f"linalg.{name}" for name in (
        "cholesky", "cholesky_ex", "cond", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv",
        "inv_ex", "lstsq", "matrix_rank", "qr", "solve", "svd", "svdvals", "tensorinv", "tensorsolve")]
    + [f"torch.{name}" for name in (
        "cdist", "cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "grid_sampler", "grid_sampler_2d",
        "grid_sampler_3d", "inverse", "lu_solve", "nanquantile", "orgqr", "ormqr", "pinverse", "polar",
        "prod", "qr", "quantile", "stft", "svd", "trace", "triangular_solve", "view_as_complex")]
    + [f"nn.functional.{name}" for name in (
        "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "fractional_max_pool2d",
        "fractional_max_pool3d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "grid_sample",
        "pad", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
        "cross_entropy", "ctc_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
        "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nll_loss",
        "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss")])
# Public functions whose arguments are cast to the widest of their types.
PROMOTED = frozenset(("torch.index_copy",))
# When a function is widened, where that depends on its arguments.
_ONLY: dict[str, Callable[..., bool]] = {
    "pad": lambda input, pad=(), mode="constant", value=None: mode == "replicate"
    or (mode == "reflect" and len(pad) < 6),
    "max_pool3d": lambda *args, return_indices=False, **kwargs: not (return_indices or True in args[6:7]),
}
_NARROW = (dtypes.float16, dtypes.bfloat16)

active = 0      # in how many threads autocast is on
used = False    # whether it ever was
guarded: Recent[Any, Any] = Recent(1 << 12)
on_first_use: list[Callable[[], None]] = []
_count_lock = threading.Lock()


class CastState(threading.local):
    """Per-thread switches: what is set for each type of device, and which of it is in force here."""

    nesting = 0
    cache_enabled = True
    target: Any = None      # the lower type where CPU operators are cast now, else None

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtype: dict[str, dtypes.dtype] = {}
        self.cache: dict[Any, tuple[Tensor, Tensor]] = {}


state = CastState()


def refresh() -> None:
    """Take up what was set for the CPU."""
    global active, used
    wanted = state.dtype.get("cpu", dtypes.bfloat16) if state.enabled.get("cpu", False) else None
    if (wanted is None) != (state.target is None):
        with _count_lock:
            active += 1 if wanted is not None else -1
    state.target = wanted
    if wanted is not None and not used:
        used = True
        for prepare in on_first_use:
            prepare()


class suspended:
    """Inside, this thread casts nothing."""

    def __enter__(self) -> None:
        self.before = state.target
        state.target = None

    def __exit__(self, *exc: object) -> None:
        state.target = self.before


# --- casts --------------------------------------------------------------------------------------------------


def lowered(x: Any, target: dtypes.dtype) -> Any:
    """A floating tensor (or those in a list) in the lower type; what is float64 or no tensor stays."""
    if not isinstance(x, Tensor):
        return type(x)(lowered(each, target) for each in x) if type(x) in (list, tuple) else x
    dtype = x.dtype
    if dtype is target or not dtype.is_floating_point or dtype is dtypes.float64 or x.device is not CPU:
        return x
    weight = (state.cache_enabled and dtype is dtypes.float32 and x.requires_grad and x.is_leaf
              and x._base is None)
    if not weight:
        return x.to(target)
    key = (id(x), grad_state.enabled)
    found = state.cache.get(key)
    if found is None:
        found = state.cache[key] = (x, x.to(target))
    return found[1]


def widened(x: Any) -> Any:
    """A 16-bit floating tensor (or those in a list) in float32."""
    if isinstance(x, Tensor):
        return x.float() if x.dtype in _NARROW else x
    return type(x)(widened(each) for each in x) if type(x) in (list, tuple) else x


def promoted(args: Sequence[Any]) -> tuple[Any, ...]:
    """Floating tensors in the widest of their types."""
    found = [x.dtype for x in args if isinstance(x, Tensor) and x.dtype.is_floating_point]
    wide = max(found, key=lambda d: d.itemsize, default=None)
    return tuple(x.to(wide) if isinstance(x, Tensor) and x.dtype.is_floating_point else x for x in args)


def lowered_operands(operands: Sequence[Any]) -> tuple[Any, ...] | None:
    """The operands in the lower type of this thread; None where nothing changes."""
    target = state.target
    if target is None:
        return None
    found = tuple(lowered(x, target) for x in operands)
    return None if all(a is b for a, b in zip(found, operands)) else found


# --- public functions ---------------------------------------------------------------------------------------


def policy_of(namespaces: Sequence[str], name: str) -> str | None:
    """What happens to the arguments of a public function: "lower", "widen", "promote", or nothing."""
    names = [f"{namespace}.{name}" for namespace in namespaces]
    for policy, listed in (("lower", LOWERED), ("widen", WIDENED), ("promote", PROMOTED)):
        if any(each in listed for each in names):
            return policy
    return None


def casting(function: Callable[..., Any], policy: str) -> Callable[..., Any]:
    """``function`` with a policy, and without autocast inside."""
    only = _ONLY.get(function.__name__)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not active or state.target is None or (only is not None and not only(*args, **kwargs)):
            return function(*args, **kwargs)
        if policy == "promote":
            args = promoted(args)
        else:
            target = state.target

            def cast(x: Any) -> Any:
                return widened(x) if policy == "widen" else lowered(x, target)
            args, kwargs = tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()}
        with suspended():
            return function(*args, **kwargs)
    wrapper._uncast = function  # type: ignore[attr-defined]
    return wrapper


def uncast(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` without autocast: in-place methods and ``out=`` keep the types they are given."""
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not active or state.target is None:
            return function(*args, **kwargs)
        with suspended():
            return function(*args, **kwargs)
    return wrapper
