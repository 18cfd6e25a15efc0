"""ParameterList and ParameterDict: containers whose tensors are registered as parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from ...tensor import Tensor
from ...tensor.typename import typename
from ..parameter import Parameter
from .module import Module


def _as_parameter(value: Any) -> Any:
    """Make a plain tensor a parameter; leave everything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(value: Any, element: Callable[[Any], Any]) -> str:
    """Return the text a container prints for one of its values; `element` names what a tensor holds."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(extent) for extent in value.size())
    place = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"{kind} containing: [{element(value)} of size {size}{place}]"


class _ParameterContainer(Module):
    """What both containers share: they are not called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")

    def _named_values(self) -> Iterable[tuple[Any, Any]]:
        return ()

    def _element(self, tensor: Tensor) -> Any:
        return typename(tensor)

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({name}): {_describe(value, self._element)}" for name, value in self._named_values()
        )


class ParameterList(_ParameterContainer):
    """A list of parameters; plain tensors put in it become parameters.

    >>> import flambeau as torch
    >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.ones(3)])
    >>> [tuple(w.shape) for w in weights]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, idx: Any) -> str:
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            selected = type(self)()
            return selected.extend([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterList().append(torch.ones(2))
        >>> len(weights), weights[0].requires_grad
        (1, True)
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add all values of an iterable at the end.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterList().extend([torch.ones(2), torch.ones(3)])
        >>> len(weights)
        2
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def _named_values(self) -> Iterable[tuple[Any, Any]]:
        return enumerate(self)

    def _element(self, tensor: Tensor) -> Any:
        return tensor.dtype


class ParameterDict(_ParameterContainer):
    """A dictionary of parameters that keeps insertion order; plain tensors put in it become parameters.

    >>> import flambeau as torch
    >>> choices = torch.nn.ParameterDict({"left": torch.zeros(2)})
    >>> "left" in choices, len(choices)
    (True, 1)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        attribute = self._attribute(key)
        self._keys[key] = None
        setattr(self, attribute, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a new dictionary of the same parameters.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"scale": torch.ones(2)})
        >>> weights.copy()["scale"] is weights["scale"]
        True
        """
        return ParameterDict({key: self[key] for key in self._keys})

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value under `key`, first setting it to `default` if there is none.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict()
        >>> weights.setdefault("scale", torch.ones(2)).requires_grad
        True
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"a": torch.ones(1)})
        >>> weights.clear(); len(weights)
        0
        """
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"scale": torch.ones(2)})
        >>> _ = weights.pop("scale"); len(weights)
        0
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last (key, value) pair and return it.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"a": torch.ones(1), "b": torch.zeros(1)})
        >>> weights.popitem()[0], list(weights)
        ('b', ['a'])
        """
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key, _ = self._keys.popitem()
        value = self[key]
        delattr(self, self._attribute(key))
        return key, value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under `key`, or `default`.

        >>> import flambeau as torch
        >>> print(torch.nn.ParameterDict().get("scale"))
        None
        """
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dictionary with the same value under every key.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"a": torch.ones(1)})
        >>> sorted(weights.fromkeys(["x", "y"], torch.zeros(1)).keys())
        ['x', 'y']
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """Return the keys.

        >>> import flambeau as torch
        >>> list(torch.nn.ParameterDict({"scale": torch.ones(2), "shift": torch.zeros(2)}).keys())
        ['scale', 'shift']
        """
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the (key, value) pairs.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"scale": torch.ones(2), "shift": torch.zeros(2)})
        >>> [(name, tuple(w.shape)) for name, w in weights.items()]
        [('scale', (2,)), ('shift', (2,))]
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values.

        >>> import flambeau as torch
        >>> [w.sum().item() for w in torch.nn.ParameterDict({"scale": torch.ones(2)}).values()]
        [2.0]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace the values of a mapping (sorted by key unless it is ordered) or of pairs.

        >>> import flambeau as torch
        >>> weights = torch.nn.ParameterDict({"scale": torch.ones(2)})
        >>> weights.update({"shift": torch.zeros(2)}); len(weights)
        2
        """
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                + type(parameters).__name__
            )
        if isinstance(parameters, ParameterDict):
            pairs = list(parameters.items())
        elif isinstance(parameters, Mapping):
            pairs = list(parameters.items())
            if type(parameters) is dict:
                pairs.sort()
        else:
            pairs = [self._checked_pair(i, pair) for i, pair in enumerate(parameters)]
        for key, value in pairs:
            self[key] = value

    @staticmethod
    def _checked_pair(position: int, pair: Any) -> tuple[str, Any]:
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"ParameterDict update sequence element #{position} should be Iterable; "
                f"is{type(pair).__name__}"
            )
        values = list(pair)
        if len(values) != 2:
            raise ValueError(
                f"ParameterDict update sequence element #{position} has length {len(values)}; 2 is required"
            )
        return values[0], values[1]

    def __or__(self, other: ParameterDict) -> ParameterDict:
        combined = self.copy()
        combined.update(other)
        return combined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        combined = other.copy()
        combined.update(self)
        return combined

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def _named_values(self) -> Iterable[tuple[Any, Any]]:
        return self.items()
