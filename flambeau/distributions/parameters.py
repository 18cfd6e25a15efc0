"""Distributions that take probabilities or logits: the one is kept, the other computed when asked for."""

from __future__ import annotations

from numbers import Number
from typing import Any

from .. import operators as ops
from ..dtypes import get_default_dtype
from ..size import Size
from ..tensor import Tensor
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class BinaryParameters:
    """``probs`` of one outcome out of two, and their log-odds ``logits``."""

    _param: Tensor

    def _take(self, probs: Any, logits: Any) -> Size:
        """Keep the one that is given; the batch shape."""
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        if isinstance(given, Number):
            tensor, shape = ops.tensor(given, dtype=get_default_dtype()), Size()
        else:
            (tensor,) = broadcast_all(given)
            shape = tensor.size()
        self._keep(name, tensor)
        return shape

    def _keep(self, name: str, tensor: Tensor) -> None:
        self.__dict__[name] = self._param = tensor

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class CategoricalParameters:
    """``probs`` (..., K), normalised, and ``logits`` (..., K), normalised log-probabilities."""

    _param: Tensor

    def _take(self, probs: Any, logits: Any) -> Size:
        """Normalise and keep the one that is given; the batch shape."""
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            tensor = given / given.sum(-1, keepdim=True)
        else:
            tensor = given - given.logsumexp(dim=-1, keepdim=True)
        self.__dict__[name] = self._param = tensor
        return tensor.size()[:-1]

    @lazy_property
    def logits(self) -> Tensor:
        """Log-probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
