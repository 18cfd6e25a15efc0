"""Anomaly detection: backward names the forward line of what failed or gave NaN."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

from ..dtypes import FLOATING
from ..tensor import state


class set_detect_anomaly:
    """Switch anomaly detection on or off; also a context manager.

    >>> import flambeau as torch
    >>> with torch.autograd.set_detect_anomaly(False):
    ...     torch.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if mode.__class__ is not bool:
            raise TypeError("set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        if check_nan.__class__ is not bool:
            raise TypeError("set_anomaly_enabled(): argument 'check_nan' (position 2) must be bool, not "
                            f"{type(check_nan).__name__}")
        self.before = (state.anomaly, state.check_nan)
        state.anomaly, state.check_nan = mode, check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        state.anomaly, state.check_nan = self.before


class detect_anomaly(set_detect_anomaly):
    """Inside, errors and NaNs in backward name the forward line they come from.

    >>> import flambeau as torch
    >>> import warnings
    >>> x = torch.tensor(-1., requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.before = (state.anomaly, state.check_nan)
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should "
                      "only be enabled for debugging.", stacklevel=2)

    def __enter__(self) -> None:
        self.before = (state.anomaly, state.check_nan)
        state.anomaly, state.check_nan = True, self.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off, without a warning.

    >>> import flambeau as torch
    >>> torch.set_anomaly_enabled(True); torch.is_anomaly_enabled()
    True
    >>> torch.set_anomaly_enabled(False)
    """
    state.anomaly, state.check_nan = enabled, check_nan


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    >>> import flambeau as torch
    >>> torch.is_anomaly_enabled()
    False
    """
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether gradients are checked for NaN.

    >>> import flambeau as torch
    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_check_nan_enabled()
    False
    """
    return state.check_nan


def describe_forward(fn: Any) -> None:
    """Warn with the forward traceback of a node whose backward failed."""
    if fn.trace:
        lines = "".join(traceback.format_list(fn.trace))
        warnings.warn(f"Error detected in {fn.name()}. Traceback of forward call that caused the "
                      f"error:\n{lines}",
                      UserWarning, stacklevel=2)
    else:
        warnings.warn(f"Error detected in {fn.name()}. No forward pass information available. Enable detect "
                      "anomaly during forward pass for more information.", UserWarning, stacklevel=2)


def check_nan(fn: Any, results: Any) -> None:
    """Raise where a gradient has NaN values (this looks at each)."""
    for i, grad in enumerate(results):
        if grad is not None and grad.dtype.category >= FLOATING and bool(grad.isnan().any()):
            describe_forward(fn)
            raise RuntimeError(f"Function '{fn.name()}' returned nan values in its {i}th output.")
