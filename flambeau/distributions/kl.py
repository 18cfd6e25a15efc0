"""Kullback-Leibler divergences: the registry."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .distribution import Distribution

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator: the divergence of two classes of distributions, and of their subclasses.

    >>> import flambeau as torch
    >>> class Shifted(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Shifted, Shifted)
    ... def _(p, q):
    ...     return (p.loc - q.loc).abs()
    >>> p, q = Shifted(torch.tensor(0.0), 1.0), Shifted(torch.tensor(3.0), 1.0)
    >>> torch.distributions.kl_divergence(p, q)
    tensor(3.)
    """
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def register(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()     # what was found before may be less special
        return function

    return register


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the nearest registered classes; NotImplemented where there is none."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    orders = type_p.__mro__, type_q.__mro__

    def distance(pair: tuple[type, type], first: int) -> tuple[int, int]:
        found = orders[0].index(pair[0]), orders[1].index(pair[1])
        return found if first == 0 else (found[1], found[0])

    left = min(matches, key=lambda pair: distance(pair, 0))
    right = min(matches, key=lambda pair: distance(pair, 1))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
                      f"Please register_kl({left[0].__name__}, {right[1].__name__})", RuntimeWarning)
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    r"""KL(p || q), the mean of log p(x) - log q(x) under p, of batch shape.

    >>> import flambeau as torch
    >>> from flambeau.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError("No KL(p || q) is implemented for p type "
                                  f"{p.__class__.__name__} and q type {q.__class__.__name__}")
    return function(p, q)
