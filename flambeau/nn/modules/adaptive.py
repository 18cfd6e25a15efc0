"""A softmax for very many classes (Grave et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import operators as ops
from ...dtypes import int64
from ...tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The log probability of each target, and the mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Cross-entropy with the rare classes grouped in clusters of smaller and smaller dimension.

    Classes are sorted by frequency; `cutoffs` divides them. input (N, in_features), target (N) -> output
    (N), loss.

    >>> import flambeau as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    >>> output, loss = layer(torch.randn(3, 8), torch.tensor([0, 7, 19]))
    >>> output.shape, loss.shape
    (torch.Size([3]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        limits = list(cutoffs)
        _check_cutoffs(limits, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*limits, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            down = Linear(in_features, hidden, bias=False, **place)
            self.tail.append(Sequential(down, Linear(hidden, size, bias=False, **place)))

    def reset_parameters(self) -> None:
        """Draw new initial values.

        >>> import flambeau as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])
        >>> before = layer.head.weight.clone()
        >>> layer.reset_parameters()
        >>> torch.equal(before, layer.head.weight)
        False
        """
        self.head.reset_parameters()
        for down, up in self.tail:
            down.reset_parameters()
            up.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        head_target, cluster_output, used_rows = self._clusters(input, target)
        if used_rows != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = cluster_output + head.gather(1, head_target.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check_shapes(input: Tensor, target: Tensor) -> None:
        if target.dim() == 1:
            if input.size(0) != target.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}"
                )
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def _clusters(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, int]:
        """Return each row's target in the head, its log probability within its cluster, and the rows
        covered."""
        head_target = target.new_empty(target.size(0))
        output = input.new_zeros(target.size(0))
        used_rows = 0
        for i, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if i == 0:
                head_target.index_copy_(0, rows, target[mask])
            else:
                log_probs = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                relative = (target[mask] - low).unsqueeze(1)
                head_target.index_fill_(0, rows, self.shortlist_size + i - 1)
                output.index_copy_(0, rows, log_probs.gather(1, relative).squeeze(1))
            used_rows += rows.numel()
        return head_target, output, used_rows

    def _full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """Return the log probabilities of all classes, given the head's output."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + of_cluster)
        return ops.cat(parts, dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes; (N, in_features) -> (N, n_classes).

        >>> import flambeau as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[4])
        >>> log_prob = layer.log_prob(torch.zeros(3, 8))
        >>> log_prob.shape, log_prob.exp().sum(dim=1)
        (torch.Size([3, 10]), tensor([1.0000, 1.0000, 1.0000], grad_fn=<SumBackward1>))
        """
        return self._full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row; clusters are computed only where they can win.

        >>> import flambeau as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[4])
        >>> x = torch.randn(3, 8)
        >>> torch.equal(layer.predict(x), layer.log_prob(x).argmax(dim=1))
        True
        """
        head_output = self.head(input)
        output = ops.argmax(head_output, dim=1)
        not_in_shortlist = output >= self.shortlist_size
        if bool(not_in_shortlist.any()):
            rows = not_in_shortlist.nonzero().squeeze(1)
            log_prob = self._full_log_prob(input.index_select(0, rows), head_output.index_select(0, rows))
            output = output.index_copy(0, rows, ops.argmax(log_prob, dim=1).to(int64))
        return output


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    increasing = cutoffs == sorted(set(cutoffs))
    if not increasing or cutoffs[0] <= 0 or max(cutoffs) > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
            "each value is between 1 and n_classes-1"
        )
