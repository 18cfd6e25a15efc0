"""Losses of ``torch`` itself, whose reductions are numbers: 0 none, 1 mean, 2 sum, others none.

Where none is given PyTorch reduces nothing, whatever its signatures say.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import ctc, loss, loss_margins, loss_regression, loss_similarity
from .registry import api


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
    """See ``nn.functional.ctc_loss``."""
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _name(reduction),
                        zero_infinity)


@api("torch", judge="first")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float,
                     reduction: int) -> Tensor:
    """See ``nn.functional.poisson_nll_loss``."""
    return loss_regression.poisson_nll_loss(input, target, log_input, full, eps=eps,
                                            reduction=_name(reduction))


@api("torch", judge="first")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """See ``nn.functional.hinge_embedding_loss``."""
    return loss_similarity.hinge_embedding_loss(input, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: int = 0) -> Tensor:
    """See ``nn.functional.margin_ranking_loss``."""
    return loss_similarity.margin_ranking_loss(input1, input2, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: int = 0) -> Tensor:
    """See ``nn.functional.cosine_embedding_loss``."""
    return loss_similarity.cosine_embedding_loss(input1, input2, target, margin, reduction=_name(reduction))


@api("torch", judge="first")
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-06, swap: bool = False, reduction: int = 0) -> Tensor:
    """See ``nn.functional.triplet_margin_loss``."""
    return loss_margins.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap,
                                            reduction=_name(reduction))
