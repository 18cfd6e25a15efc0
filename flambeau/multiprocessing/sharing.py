"""How PyTorch's processes would share the memory of tensors: here always by file descriptors."""

from __future__ import annotations

_STRATEGIES = ("file_descriptor", "file_system")
_chosen = [_STRATEGIES[0]]


def get_all_sharing_strategies() -> set[str]:
    """The strategies that can be chosen.

    >>> import flambeau as torch
    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The strategy that was chosen last.

    >>> import flambeau as torch
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _chosen[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembered: no file descriptors are shared, and so none run out.

    >>> import flambeau as torch
    >>> torch.multiprocessing.set_sharing_strategy("file_system")
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_system'
    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _chosen[0] = new_strategy
