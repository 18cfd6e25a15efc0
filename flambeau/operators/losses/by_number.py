"""Losses of ``torch`` itself, whose reductions are numbers: 0 none, 1 mean, 2 sum, others none.

Where none is given PyTorch reduces nothing, whatever its signatures say.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..declaration.registry import api
from . import ctc, loss, margins, regression, similarity


def _name(reduction: int) -> str:
    return {1: "mean", 2: "sum"}.get(reduction, "none")


@api("torch", judge="first")
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Any = None,
                                     pos_weight: Any = None, reduction: int = 0) -> Tensor:
    """See ``nn.functional.binary_cross_entropy_with_logits``.

    >>> import flambeau as torch
    >>> x = torch.zeros(2)
    >>> torch.binary_cross_entropy_with_logits(x, torch.tensor([0., 1.]), reduction=2)
    tensor(1.3863)
    """
    return loss.binary_cross_entropy_with_logits(input, target, weight, reduction=_name(reduction),
                                                 pos_weight=pos_weight)


@api("torch", judge="first")
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: int = 0, zero_infinity: bool = False) -> Tensor:
    """See ``nn.functional.ctc_loss``.

    >>> import flambeau as torch
    >>> scores = torch.zeros(2, 1, 3).log_softmax(2)
    >>> torch.ctc_loss(scores, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor([1.0986])
    """
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _name(reduction),
                        zero_infinity)


@api("torch", judge="first")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float,
                     reduction: int) -> Tensor:
    """See ``nn.functional.poisson_nll_loss``.

    >>> import flambeau as torch
    >>> torch.poisson_nll_loss(torch.zeros(1), torch.ones(1), True, False, 1e-8, 1)
    tensor(1.)
    """
    return regression.poisson_nll_loss(input, target, log_input, full, eps=eps,
                                       reduction=_name(reduction))


@api("torch", judge="first")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """See ``nn.functional.hinge_embedding_loss``.

    >>> import flambeau as torch
    >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1, -1]))
    tensor([0.5000, 0.5000])
    """
    return similarity.hinge_embedding_loss(input, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: int = 0) -> Tensor:
    """See ``nn.functional.margin_ranking_loss``.

    >>> import flambeau as torch
    >>> torch.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor([2.])
    """
    return similarity.margin_ranking_loss(input1, input2, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: int = 0) -> Tensor:
    """See ``nn.functional.cosine_embedding_loss``.

    >>> import flambeau as torch
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.cosine_embedding_loss(x, y, torch.tensor([1.0]))
    tensor([1.])
    """
    return similarity.cosine_embedding_loss(input1, input2, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-06, swap: bool = False, reduction: int = 0) -> Tensor:
    """See ``nn.functional.triplet_margin_loss``.

    >>> import flambeau as torch
    >>> a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([[3.0, 4.0]])
    >>> torch.triplet_margin_loss(a, p, n)
    tensor([0.])
    """
    return margins.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap,
                                       reduction=_name(reduction))
