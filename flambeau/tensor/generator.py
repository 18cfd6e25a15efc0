"""Generator: a source of random numbers whose state is an ordinary tensor.

Note: random numbers. A random operator takes the state as an operand and returns the state after it beside
its values: what is drawn, in which order, is fixed when it is recorded, and dead values do not disturb the
stream of the living.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from .. import devices
from ..config import settings
from ..engine.look import value_of
from ..graph.geometry import Geometry, contiguous
from ..graph.node import Failure
from ..graph.operator import Operator
from ..graph.recent import Recent
from ..random_streams.few import FEW, Ahead, few_normals
from ..random_streams.groups_ahead import LONGEST, GroupsAhead, is_of_groups
from ..random_streams.state import STATE_BYTES, check_state, seed_state
from .batching import levels, rules
from .construct import from_array
from .recording.record import interceptors, record
from .samples.known import from_value
from .tape import state
from .tensor import Tensor

DEFAULT_SEED = 67280421310721


class Generator:
    """A source of random numbers.

    >>> import flambeau as torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> torch.rand(1, generator=generator)
    tensor([0.4963])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = devices.resolve(device)
        self._seed = DEFAULT_SEED
        self._state: Tensor = from_array(np.array(seed_state(DEFAULT_SEED)))
        self._retreats: list[Tensor] = []   # states before draws that may turn out to be wrong

    @property
    def _state(self) -> Tensor:
        """The state after all draws so far."""
        if self._ahead is not None:
            self._state = from_value(self._ahead.after(), self._held._geometry)
        return self._held

    @_state.setter
    def _state(self, state: Tensor) -> None:
        self._held = state
        # what is taken from numbers drawn ahead, and has not changed the state held
        self._ahead: Ahead | GroupsAhead | None = None

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from a seed of up to 64 bits.

        >>> import flambeau as torch
        >>> g = torch.Generator()
        >>> a, b = torch.rand(2, generator=g.manual_seed(1)), torch.rand(2, generator=g.manual_seed(1))
        >>> torch.equal(a, b)
        True
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            if isinstance(seed, np.generic):
                raise TypeError("an integer is required")
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -0x8000_0000_0000_0000 <= seed <= 0xFFFF_FFFF_FFFF_FFFF:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed & 0xFFFF_FFFF_FFFF_FFFF
        self._state = from_array(np.array(seed_state(self._seed)))
        return self

    def initial_seed(self) -> int:
        """The seed from which the stream started.

        >>> import flambeau as torch
        >>> torch.Generator().manual_seed(7).initial_seed()
        7
        """
        return self._seed

    def seed(self) -> int:
        """Start anew from a seed of the system's; returns it.

        >>> import flambeau as torch
        >>> g = torch.Generator()
        >>> g.seed() == g.initial_seed()
        True
        """
        self.manual_seed(int.from_bytes(os.urandom(7), "little") ^ time.time_ns() & 0xFFFF)
        return self._seed

    def get_state(self) -> Tensor:
        """The state of the stream as 5,056 bytes.

        >>> import flambeau as torch
        >>> g = torch.Generator().manual_seed(0)
        >>> state = g.get_state()
        >>> a = torch.rand(2, generator=g)
        >>> torch.equal(a, torch.rand(2, generator=g.set_state(state)))
        True
        """
        return self._state.clone()

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that ``get_state`` returned.

        >>> import flambeau as torch
        >>> g = torch.Generator()
        >>> other = torch.Generator().set_state(g.get_state())
        >>> torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=other))
        True
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        array = np.array(new_state.detach().numpy(force=True)).reshape(-1)
        check_state(array)
        self._seed = int(array[:8].view(np.uint64)[0])
        self._state = from_array(array)
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state.

        >>> import flambeau as torch
        >>> g = torch.Generator()
        >>> torch.equal(torch.rand(2, generator=g.clone_state()), torch.rand(2, generator=g))
        True
        """
        return Generator(self.device).set_state(self.get_state())

    def __setstate__(self, saved: tuple[int, Any, Tensor]) -> None:
        """Seed, offset (of other devices' streams) and state, as checkpoints have them."""
        self.set_state(saved[2])

    def __reduce__(self) -> Any:
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())


default_generator = Generator()


def draw(operator: Operator, generator: Generator | None, operands: tuple[Any, ...],
         attributes: tuple[Any, ...]) -> Tensor:
    """Record a random operator ``kernel(m, state, *operands, *attributes) -> values, new state``.

    Returns the values.
    """
    if levels:
        return rules.draw(_draw, operator, generator, operands, attributes, len(levels))
    return _draw(operator, generator, operands, attributes)


def _draw(operator: Operator, generator: Generator | None, operands: tuple[Any, ...],
          attributes: tuple[Any, ...]) -> Tensor:
    source = generator or default_generator
    if Failure.made:
        _recover(source)
    few = few_by_few.get(operator)
    if few is not None and (geometry := attributes[-1]).numel <= (LONGEST if state.at_once else FEW) \
            and _draws_at_once(geometry):
        of_groups = state.at_once and few is few_normals and is_of_groups(
            geometry.numel, operands[0], operands[1], attributes[0], geometry.dtype.numpy)
        drawn = (_of_groups(operator, source, geometry) if of_groups else
                 _few(few, source, operands, geometry))
        if drawn is not None:
            return drawn
    return _recorded(operator, source, operands, attributes)


def _recorded(operator: Operator, source: Generator, operands: tuple[Any, ...],
              attributes: tuple[Any, ...]) -> Tensor:
    held = source._held if source._ahead is None else source._state
    for x in operands:
        if x.__class__ not in _NUMBERS:
            enabled, state.enabled = state.enabled, False
            try:
                values, after = record(operator, (held, *operands), attributes)
            finally:
                state.enabled = enabled
            break
    else:       # nothing that could have a history
        values, after = record(operator, (held, *operands), attributes)
    source._held = after
    source._ahead = None
    result: Tensor = values
    return result


_NUMBERS = frozenset((float, int))


_AT_ONCE = frozenset(("auto", "interpreter"))     # executors
# What draws a few numbers quickly by itself, for operators that have it (filled where they are defined).
few_by_few: dict[Operator, Any] = {}


def _few(few: Any, source: Generator, operands: tuple[Any, ...], geometry: Geometry) -> Tensor | None:
    """A few numbers, drawn at once, which costs less than to record it; None if the stream is not known."""
    ahead = source._ahead
    if ahead.__class__ is not Ahead:
        value = _value(source._held if ahead is None else source._state)
        if value.__class__ is not np.ndarray:
            return None
        ahead = Ahead(value)
    numbers = few(ahead, geometry.numel, *operands, geometry.dtype.numpy)
    if numbers is None:
        return None
    source._ahead = ahead
    return from_value(numbers, geometry)


def numbers_ahead() -> Ahead | None:
    """Where one number of the default generator comes from; None where there is more to it."""
    ahead = default_generator._ahead
    if levels or interceptors or settings.executor not in _AT_ONCE \
            or devices.resolve(None) is not devices.CPU:
        return None
    return ahead if ahead.__class__ is Ahead else _begun_ahead()


def _begun_ahead() -> Ahead | None:
    """The same where no number was drawn since the state became another one; None where that is not known."""
    source = default_generator
    if source._ahead is not None or Failure.made:
        return None
    value = _value(source._held)
    if value.__class__ is not np.ndarray:
        return None
    source._ahead = ahead = Ahead(value)
    return ahead


def draw_few(few: Any, geometry: Geometry, *operands: Any) -> Tensor | None:
    """A few numbers of the default generator, with less around them; None where there is more to it."""
    ahead = default_generator._ahead
    if levels or geometry.device is not devices.CPU or not _draws_at_once(geometry):
        return None
    if ahead.__class__ is not Ahead and (ahead := _begun_ahead()) is None:
        return None
    numbers = few(ahead, geometry.numel, *operands, geometry.dtype.numpy)
    return None if numbers is None else from_value(numbers, geometry)


def draw_group(geometry: Geometry) -> Tensor | None:
    """Standard normal numbers for a sample, of those drawn ahead; None where there is more to it."""
    ahead = default_generator._ahead
    if ahead.__class__ is not GroupsAhead or levels or interceptors or settings.executor not in _AT_ONCE:
        return None
    count = _counts.get(geometry)
    if count is None:
        fits = geometry.device is devices.CPU and geometry.is_contiguous and is_of_groups(
            geometry.numel, 0.0, 1.0, True, geometry.dtype.numpy)
        count = _counts.keep(geometry, geometry.numel if fits else 0)
    values = ahead.take(count) if count else None
    return None if values is None else from_value(values, geometry)


_counts: Recent[Geometry, int] = Recent(1 << 8)     # numbers to take of groups for a sample; 0: none


def _of_groups(operator: Operator, source: Generator, geometry: Geometry) -> Tensor | None:
    """Normal numbers for a sample: with more than are asked for now, as the next one asks for as many, as a
    rule. None if the stream is not known.
    """
    count, ahead, many = geometry.numel, source._ahead, geometry.numel
    if ahead.__class__ is GroupsAhead:
        if (values := ahead.take(count)) is not None:
            return from_value(values, geometry)
        many = ahead.to_draw(count)
    before = _value(source._state)
    if before.__class__ is not np.ndarray:
        return None
    drawn = _recorded(operator, source, (0.0, 1.0), (True, contiguous((many,), geometry.dtype)))
    values = value_of(drawn._storage, "draws")
    source._ahead = GroupsAhead(before, values, value_of(source._held._storage, "draws"), count)
    return from_value(values[:count], geometry)


def _draws_at_once(geometry: Geometry) -> bool:
    return not interceptors and geometry.is_contiguous and settings.executor in _AT_ONCE


def draw_from(operator: Operator, generator: Generator | None, operands: tuple[Any, ...],
              known: tuple[Any, ...], attributes: tuple[Any, ...]) -> Tensor:
    """``draw`` with operands whose values are known, as arrays: at once where that can be."""
    source = generator or default_generator
    _recover(source)
    before, geometry = _value(source._state), attributes[-1]
    if levels or before.__class__ is not np.ndarray or not _draws_at_once(geometry):
        return draw(operator, generator, operands, attributes)
    values, after = operator.kernel(None, before, *known, *attributes)
    source._state = from_value(after, source._state._geometry)
    return from_value(values if values.ndim == 1 else values.reshape(-1), geometry)


def may_fail(generator: Generator | None) -> None:
    """Before a draw whose operands are checked by its kernel: where it fails, draws go on from here."""
    source = generator or default_generator
    _recover(source)
    if _value(source._state) is not None:
        source._retreats.clear()
    source._retreats.append(source._state)


def _recover(source: Generator) -> None:
    """Go back to the state before a draw that failed."""
    if Failure.made:
        while source._retreats and _value(source._state).__class__ is Failure:
            source._state = source._retreats.pop()


def _value(x: Tensor) -> Any:
    return x._storage.node.value


__all__ = ["DEFAULT_SEED", "STATE_BYTES", "Generator", "default_generator", "draw", "may_fail"]
