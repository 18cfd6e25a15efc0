"""Tensor: a handle on (storage, geometry) plus what autograd needs. It records, and never computes.

The operators attach themselves as methods (``operators.registry``); this file has the handle itself.
"""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..graph.geometry import Geometry
from ..graph.storage import Storage, VersionCounter
from ..naming import take
from .attributes import attributes, become, blank, contents, settle
from .facts import Facts
from .gradients import (
    NOT_A_LEAF,
    check_data,
    check_grad,
    check_requires_grad,
    check_subclass_leaf,
    grad_dtype,
    set_grad_dtype,
)
from .tape import INFERENCE, adopt_inference, inferring, state

_new = object.__new__


class Tensor(Facts):
    """A multi-dimensional array of one element type, with automatic differentiation.

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2., 3.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    # These have no default (Note: hot fields, in ``attributes.py``).
    _storage: Storage
    _geometry: Geometry
    _requires_grad: bool
    _grad_fn: Any
    _counter: Any               # a version counter other than the storage's; of an inference tensor INFERENCE
    _base: Any                  # the tensor of which this is a view
    _view: Any                  # how to make this view from its base again (``views.chain_of``)
    _base_version: int          # version at which a view's grad_fn was made

    _output_nr = 0
    _grad: Any = None
    # whether this is a view of one of several outputs or of a custom function's: it may not be written
    _multiple: Any = False
    _hooks: Any = None          # gradient hooks of a leaf
    _accumulate: Any = None     # the AccumulateGrad node of a leaf, made when asked for
    _swapped = 0                # the number of nodes before torch.utils.swap_tensors gave it other contents
    _retains_grad = False
    _conj = False
    _name: str | None = None
    _keep: Any = None           # what owns the memory of an imported buffer

    __dict__ = attributes

    @property
    def _version(self) -> int:
        if self._counter is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return (self._counter or self._storage).version

    @property
    def name(self) -> str | None:
        return self._name

    # --- autograd -------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through this tensor.

        It can be set for leaves (tensors that no recorded operation made) of floating-point or complex dtype.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> w.requires_grad, (2 * w).requires_grad, torch.ones(2).requires_grad
        (True, True, False)
        """
        if self._requires_grad:
            return True
        base = self._base
        return base is not None and base._requires_grad and self._counter is not INFERENCE

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted.__class__ is not bool:
            raise RuntimeError("requires_grad must be a bool")
        if wanted and self._geometry.dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if wanted and self.grad_fn is not None:     # which ``requires_grad_`` takes
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Let autograd record operations on this leaf (or stop doing so).

        >>> import flambeau as torch
        >>> w = torch.ones(2).requires_grad_()
        >>> w.sum().backward(); w.grad
        tensor([1., 1.])
        """
        if requires_grad is not True or self._grad_fn is not None or self._base is not None \
                or self._counter is not None or self._geometry.dtype.category < dtypes.FLOATING:
            check_requires_grad(self, requires_grad)
        if self.grad_fn is None:
            self._requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> w.is_leaf, (2 * w).is_leaf
        (True, False)
        """
        return not self.requires_grad or self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The recorded operation that made this tensor, None for a leaf.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> print(w.grad_fn, (2 * w).grad_fn.name())
        None MulBackward0
        """
        base = self._base
        if base is not None and base._counter is not INFERENCE \
                and self._base_version != (base._counter or base._storage).version:
            from .aliasing.views import refresh_grad_fn  # made of this class
            refresh_grad_fn(self)
        return self._grad_fn

    @property
    def output_nr(self) -> int:
        """Which result of ``grad_fn`` this tensor is."""
        return self._output_nr

    @property
    def grad(self) -> Any:
        """The accumulated gradient, None before the first backward.

        Further calls of ``backward`` add to it; ``optimizer.zero_grad()`` (or None) begins anew.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> (3 * w).sum().backward(); (3 * w).sum().backward(); w.grad
        tensor([6., 6.])
        """
        if self._grad is None and self.requires_grad and not self.is_leaf and not self._retains_grad:
            warnings.warn(NOT_A_LEAF, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of a leaf's gradient: its own, unless another (or None, any) was set.

        >>> import flambeau as torch
        >>> w = torch.ones(1, dtype=torch.bfloat16, requires_grad=True)
        >>> w.grad_dtype = torch.float32
        >>> w.sum().backward(); w.grad.dtype
        torch.float32
        """
        return grad_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, wanted: Any) -> None:
        set_grad_dtype(self, wanted)

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called: backward keeps the gradient, though this is not a leaf.

        >>> import flambeau as torch
        >>> x = torch.ones(1, requires_grad=True) * 2
        >>> x.retain_grad(); x.retains_grad
        True
        """
        return self._retains_grad

    def is_inference(self) -> bool:
        """Whether the tensor was made under ``inference_mode``.

        >>> import flambeau as torch
        >>> with torch.inference_mode():
        ...     torch.ones(1).is_inference()
        True
        """
        return self._counter is not None and self._counter.inference

    def detach(self) -> Tensor:
        """The same storage, without history: no gradient flows through the result.

        >>> import flambeau as torch
        >>> torch.ones(1, requires_grad=True).detach().requires_grad
        False
        """
        out: Tensor = _new(Tensor)
        out._storage = self._storage
        out._geometry = self._geometry
        out._counter = self._counter
        out._requires_grad = False
        out._grad_fn = out._base = out._view = None
        out._base_version = 0
        if self._counter is INFERENCE:
            adopt_inference(out)
        return out

    @property
    def data(self) -> Tensor:
        """The same storage with neither history nor version counting. Prefer ``detach()``.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> _ = w.data.fill_(3); w
        tensor([3., 3.], requires_grad=True)
        """
        out: Tensor = blank(Tensor)
        out._storage = self._storage
        out._geometry = self._geometry
        out._counter = VersionCounter()
        if self._counter is not None and self._counter.inference:
            adopt_inference(out)
        return out

    @data.setter
    def data(self, new: Tensor) -> None:
        check_data(self, new)
        if self._counter is None and self._storage.version != new._storage.version:
            self._counter = VersionCounter(self._storage.version)   # it goes on counting as before
        self._storage = new._storage
        self._geometry = new._geometry

    # --- subclassing ----------------------------------------------------------------------------------------

    _overrides = False          # whether this class has a __torch_function__ of its own

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called in place of ``func`` for arguments of subclasses (Note: overrides)."""
        from .overrides import default_torch_function  # made of this class
        return default_torch_function(cls, func, types, args, kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        settle(cls)
        from .overrides import subclass_defined  # made of this class
        subclass_defined(cls)

    def __new__(cls, *data: Any, **kwargs: Any) -> Any:
        from .construct import legacy_new  # made of this class
        return legacy_new(cls, *data, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
        """``data``'s storage as an instance of ``cls``, a leaf."""
        out: Any = blank(cls)
        out._storage = data._storage
        out._geometry = data._geometry
        if require_grad:
            check_subclass_leaf(data)
            out._requires_grad = True
        if data.is_inference():
            adopt_inference(out)
        return out

    def as_subclass(self, cls: type) -> Any:
        """This tensor as an instance of another class, sharing storage and history.

        >>> import flambeau as torch
        >>> class Image(torch.Tensor):
        ...     pass
        >>> type(torch.ones(2).as_subclass(Image)).__name__
        'Image'
        """
        out: Any = _new(cls)
        # The gradient of a leaf is still the leaf's: what stands for it is computed from it.
        leaf = self._requires_grad and self._grad_fn is None and state.enabled
        become(out, *contents(self.view_as(self) if leaf else self))
        return out

    __hash__ = object.__hash__


take(Tensor, Facts)


def fresh(storage: Storage, geometry: Geometry) -> Tensor:
    """A tensor on a storage, without history."""
    out = _new(Tensor)
    out._storage = storage
    out._geometry = geometry
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    return out
