"""The generators of devices, of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from .absence import NONE


def seed() -> None:
    """Seed the device's generator by chance: there is none."""


def seed_all() -> None:
    """Seed the devices' generators by chance: there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of the devices' generators: there are none."""
    return []


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """The state of a device's generator."""
    raise AssertionError(NONE)


def initial_seed() -> NoReturn:
    """The seed of the device's generator."""
    raise AssertionError(NONE)


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a device's generator once there is a device."""


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of the devices' generators once there are devices."""


def manual_seed(seed: int) -> None:
    """Seed the devices' generators: there are none."""


def manual_seed_all(seed: int) -> None:
    """Seed the devices' generators: there are none.

    >>> import flambeau as torch
    >>> torch.cuda.manual_seed_all(0)
    """
