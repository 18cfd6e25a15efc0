"""The pruning methods: nothing, at random, by size, by a given mask; by entries or by channels."""

from __future__ import annotations

import numbers
from typing import Any

from .... import operators as ops
from ....tensor import Tensor
from ...modules.module import Module
from ._base import BasePruningMethod, along


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    is_fraction = not isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (is_fraction and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: float, total: int) -> int:
    """Return how many of `total` to prune: `amount` itself, or that fraction."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * total)
    if amount > total:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={total}")
    return int(amount)


def _channels(t: Tensor, dim: int) -> int:
    """Return the number of channels along `dim`, after checking that there can be channels."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return t.shape[dim]


def _keep_channels(t: Tensor, dim: int, kept: Tensor) -> Tensor:
    """Return zeros like `t` with ones in the kept channels (numbers, or a mask)."""
    mask = ops.zeros_like(t)
    mask[along(dim, t.dim(), kept)] = 1
    return mask


class Identity(BasePruningMethod):
    """Prunes nothing: gives a parameter its `<name>_orig` and a mask of ones.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.prune.Identity.apply(layer, "weight").compute_mask(layer.weight, torch.ones(1, 2))
    tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it is.

        >>> import flambeau as torch
        >>> torch.nn.utils.prune.Identity().compute_mask(torch.ones(2), torch.tensor([1.0, 0.0]))
        tensor([1., 0.])
        """
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Give a parameter a mask.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> method = torch.nn.utils.prune.Identity.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]])
        """
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes `amount` entries at random: a number (int) or a fraction (float).

    >>> import flambeau as torch
    >>> torch.nn.utils.prune.RandomUnstructured(amount=2).prune(torch.ones(4)).sum()
    tensor(2.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with random entries zeroed."""
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=ops.contiguous_format)
        if count != 0:
            chosen = ops.topk(ops.rand_like(t).view(-1), k=count).indices
            mask.view(-1)[chosen] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:  # type: ignore[override]
        """Prune `amount` entries of a parameter at random.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(4, 1, bias=False)
        >>> method = torch.nn.utils.prune.RandomUnstructured.apply(layer, "weight", amount=3)
        >>> layer.weight_mask.sum()
        tensor(1.)
        """
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the `amount` entries with the smallest absolute values.

    >>> import flambeau as torch
    >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 2.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with the smallest entries zeroed.

        >>> import flambeau as torch
        >>> method = torch.nn.utils.prune.L1Unstructured(amount=2)
        >>> method.compute_mask(torch.tensor([3.0, -1.0, 2.0]), torch.ones(3))
        tensor([1., 0., 0.])
        """
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=ops.contiguous_format)
        if count != 0:
            mask.view(-1)[ops.topk(ops.abs(t).view(-1), k=count, largest=False).indices] = 0
        return mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prune the entries with the smallest absolute value or score.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(4, 1, bias=False)
        >>> method = torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=0.5)
        >>> layer.weight_mask.sum()
        tensor(2.)
        """
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prunes `amount` channels along `dim` at random.

    >>> import flambeau as torch
    >>> torch.nn.utils.prune.RandomStructured(amount=1, dim=0).prune(torch.ones(2, 3)).sum()
    tensor(3.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with random channels zeroed."""
        channels = _channels(t, self.dim)
        count = _count(self.amount, channels)
        if count == 0:
            return default_mask
        scores = ops.rand(channels)
        kept = scores > ops.kthvalue(scores, k=count).values
        return _keep_channels(t, self.dim, kept) * default_mask.to(t.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        """Prune `amount` channels of a parameter at random.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 4, bias=False)
        >>> method = torch.nn.utils.prune.RandomStructured.apply(layer, "weight", amount=1, dim=0)
        >>> layer.weight_mask.sum()
        tensor(6.)
        """
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the `amount` channels along `dim` with the smallest `n`-norm.

    >>> import flambeau as torch
    >>> torch.nn.utils.prune.LnStructured(amount=1, n=2, dim=0).prune(torch.tensor([[1.0, 1.0], [3.0, 0.0]]))
    tensor([[0., 0.],
            [3., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with the channels of smallest norm zeroed.

        >>> import flambeau as torch
        >>> method = torch.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
        >>> method.compute_mask(torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.ones(2, 2))
        tensor([[0., 0.],
                [1., 1.]])
        """
        channels = _channels(t, self.dim)
        count = _count(self.amount, channels)
        others = list(range(t.dim()))
        del others[self.dim]
        norms = ops.norm(t, p=self.n, dim=others)
        if count == 0:
            return default_mask
        kept = ops.topk(norms, k=channels - count, largest=True).indices
        return _keep_channels(t, self.dim, kept) * default_mask.to(t.dtype)

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        """Prune the channels of smallest norm.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 4, bias=False)
        >>> method = torch.nn.utils.prune.LnStructured.apply(layer, "weight", amount=0.5, n=2, dim=0)
        >>> layer.weight_mask.sum()
        tensor(4.)
        """
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero.

    >>> import flambeau as torch
    >>> torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0])).prune(torch.tensor([5.0, 6.0]))
    tensor([5., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of the given and the default mask.

        >>> import flambeau as torch
        >>> method = torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0, 1]))
        >>> method.compute_mask(torch.ones(3), torch.tensor([1.0, 1.0, 0.0]))
        tensor([1., 0., 0.])
        """
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        """Prune a parameter where `mask` is zero.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> method = torch.nn.utils.prune.CustomFromMask.apply(layer, "weight", torch.tensor([[1, 0]]))
        >>> layer.weight[0, 1].item() == 0
        True
        """
        return super().apply(module, name, mask=mask)
