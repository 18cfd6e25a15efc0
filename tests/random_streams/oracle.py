"""Running a case in PyTorch, and digests of what it gives."""

from __future__ import annotations

import hashlib
from typing import Any

import ml_dtypes
import numpy as np

from flambeau import random_streams as streams

from .random_stream_cases import Array, Case

SEED = 5
# An odd count leaves the second value of a pair of normals in the state.
WARM_UP = 3


def starting_state() -> Array:
    """The state from which every case starts."""
    return streams.normal(streams.seed_state(SEED), (WARM_UP,), 0.0, 1.0, np.dtype(np.float32))[1]


def run_reference(torch: Any, case: Case) -> tuple[Array, Array]:
    """PyTorch's values and the state after them."""
    torch.manual_seed(SEED)
    torch.randn(WARM_UP)
    values = case.reference(torch)
    return to_numpy(torch, values), torch.get_rng_state().numpy()


def to_numpy(torch: Any, values: Any) -> Array:
    """An array with a PyTorch tensor's values."""
    if values.dtype == torch.bfloat16:
        return values.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return values.numpy()


def digest(values: Array, state: Array) -> str:
    """Twelve hexadecimal digits for the type, the shape, the values' bytes and the state."""
    return hashlib.sha256(f"{values.dtype.name}{values.shape}".encode() + values.tobytes()
                          + state.tobytes()).hexdigest()[:12]
