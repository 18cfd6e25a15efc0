"""The base class: shapes of batches and events, validation, and what a distribution may offer."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.grad_mode import no_grad
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


def _is_lazy(cls: type, name: str) -> bool:
    found = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    return isinstance(found, lazy_property)


class Distribution:
    """A probability distribution over events of ``event_shape``, one for each element of ``batch_shape``.

    A sample of ``sample_shape`` has the shape ``sample_shape + batch_shape + event_shape``.

    >>> import flambeau as torch
    >>> from flambeau.distributions import Independent, Normal
    >>> d = Independent(Normal(torch.zeros(4, 2), torch.ones(4, 2)), 1)
    >>> d.batch_shape, d.event_shape, d.sample((5,)).shape, d.log_prob(torch.zeros(2)).shape
    (torch.Size([4]), torch.Size([2]), torch.Size([5, 4, 2]), torch.Size([4]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where ``validate_args`` is not given.

        >>> import flambeau as torch
        >>> torch.distributions.Distribution.set_default_validate_args(False)
        >>> torch.distributions.Normal(0.0, -1.0).scale
        tensor(-1.)
        >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (),
                 validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set "
                          "`arg_constraints = {}` or initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=3)
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue    # cannot be checked by itself
            if name not in self.__dict__ and _is_lazy(type(self), name):
                continue    # follows from a parameter that is checked
            value = getattr(self, name)
            if not constraint.holds(value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch expanded to ``batch_shape``.

        >>> import flambeau as torch
        >>> torch.distributions.Normal(0., 1.).expand((3,)).sample().shape
        torch.Size([3])
        """
        raise NotImplementedError

    def _expanded(self, cls: type, batch_shape: Any, _instance: Any, **event_dims: int) -> Any:
        """A copy of class ``cls`` with the named tensors expanded; each has so many dimensions of events."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name, count in event_dims.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                own = value.shape[value.dim() - count:]
                new.__dict__[name] = value.expand(batch_shape + own)
        super(cls, new).__init__(batch_shape, self._event_shape, validate_args=False)  # type: ignore[arg-type]
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters vary.

        >>> import flambeau as torch
        >>> torch.distributions.Categorical(torch.ones(2, 3)).batch_shape
        torch.Size([2])
        """
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event, without batching.

        >>> import flambeau as torch
        >>> torch.distributions.Dirichlet(torch.ones(2, 3)).event_shape
        torch.Size([3])
        """
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What each parameter has to satisfy.

        >>> import flambeau as torch
        >>> torch.distributions.Normal.arg_constraints
        {'loc': Real(), 'scale': GreaterThan(lower_bound=0.0)}
        """
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that events satisfy.

        >>> import flambeau as torch
        >>> torch.distributions.Exponential(1.).support.check(torch.tensor([1., -1.]))
        tensor([ True, False])
        """
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean.

        >>> import flambeau as torch
        >>> torch.distributions.Uniform(0., 4.).mean
        tensor(2.)
        """
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable event.

        >>> import flambeau as torch
        >>> torch.distributions.Normal(3., 1.).mode
        tensor(3.)
        """
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance.

        >>> import flambeau as torch
        >>> torch.distributions.Normal(0., 3.).variance
        tensor(9.)
        """
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation.

        >>> import flambeau as torch
        >>> torch.distributions.Normal(0., 3.).stddev
        tensor(3.)
        """
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw without gradient.

        >>> import flambeau as torch
        >>> torch.distributions.Bernoulli(torch.tensor([0., 1.])).sample((2,))
        tensor([[0., 1.],
                [0., 1.]])
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw so that gradients reach the parameters (the reparametrization trick).

        >>> import flambeau as torch
        >>> loc = torch.zeros(3, requires_grad=True)
        >>> torch.distributions.Normal(loc, 1.).rsample().sum().backward(); loc.grad
        tensor([1., 1., 1.])
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw n times; ``sample((n,))`` in new code.

        >>> import flambeau as torch
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> torch.distributions.Normal(0.0, 1.0).sample_n(3).shape
        torch.Size([3])
        """
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning,
                      stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value.

        >>> import flambeau as torch
        >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.)).exp()
        tensor(0.2500)
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most a value.

        >>> import flambeau as torch
        >>> torch.distributions.Uniform(0., 4.).cdf(torch.tensor(1.))
        tensor(0.2500)
        """
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``.

        >>> import flambeau as torch
        >>> torch.distributions.Uniform(0., 4.).icdf(torch.tensor(0.25))
        tensor(1.)
        """
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        >>> import flambeau as torch
        >>> torch.distributions.Categorical(torch.ones(3)).enumerate_support()
        tensor([0, 1, 2])
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats.

        >>> import flambeau as torch
        >>> torch.distributions.Uniform(0., 1.).entropy()
        tensor(0.)
        """
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy.

        >>> import flambeau as torch
        >>> torch.distributions.Uniform(0., 4.).perplexity()
        tensor(4.)
        """
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        """The shape of a sample."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError where a value cannot be an event of this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs "
                             f"{self._event_shape}.")
        actual, expected = value.shape, self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                                 f"{actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. "
                          "Please initialize the distribution with `validate_args=False` to turn off "
                          "validation.", stacklevel=3)
            return
        if not support.holds(value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}")

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An empty instance to fill in ``expand``; a class with its own ``__init__`` brings its own."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        inside = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}"
                           for name, value in shown)
        return f"{type(self).__name__}({inside})"
