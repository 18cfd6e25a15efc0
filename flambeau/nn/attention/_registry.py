"""Flash attention from elsewhere: who registers one, and which is in use."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_registered: dict[str, Callable[..., Any]] = {}
# At most one entry: the name of what is in use, and the handle that keeps it alive.
_active: dict[str, Any] = {}


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Make an implementation known by a name; `register_fn` is called when it is activated.

    It returns a handle, which `restore_flash_attention_impl` lets go of; without one nothing is in use.

    >>> import flambeau as torch
    >>> from flambeau.nn import attention
    >>> class Handle:
    ...     def remove(self): print("removed")
    >>> attention.register_flash_attention_impl("mine", register_fn=Handle)
    >>> attention.activate_flash_attention_impl("mine")
    >>> attention.current_flash_attention_impl()
    'mine'
    >>> attention.restore_flash_attention_impl()
    removed
    """
    _registered[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Use a registered implementation from now on."""
    if impl not in _registered:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    if impl not in _active:
        handle = _registered[impl]()
        restore_flash_attention_impl(_raise_warn=False)
        if handle is not None:
            _active[impl] = handle


def list_flash_attention_impls() -> list[str]:
    """The names of those that are registered."""
    return sorted(_registered)


def current_flash_attention_impl() -> str | None:
    """The name of the one in use, None for the own one."""
    return next(iter(_active), None)


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Use the own implementation again."""
    if not _active and _raise_warn:
        _log.warning("Trying to restore default FA2 impl when no custom impl was activated")
    for handle in _active.values():
        if hasattr(handle, "remove"):
            handle.remove()
    _active.clear()
