"""Connectionist temporal classification: the loss of label sequences without alignment (Graves et al. 2006).

Note: alignments. A target of S labels is read as 2 S + 1 symbols, a blank before, between and after the
labels. An alignment stays on a symbol, goes to the next one, or skips a blank between two different labels.
``alpha[t, s]`` is the log of the summed probability of all alignments that have read up to symbol s at time
t, ``beta`` the same from the end; their product over the loss is the probability of being at s at time t,
which gives the gradient

    d loss / d logit[t, k] = p[t, k] - sum of these over the symbols that are k.

As in PyTorch this is the gradient by the logits: it takes the log probabilities to be a log softmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..calls.complaints import complaint
from ..declaration.definition import operator
from ..declaration.domain import not_implemented
from ..declaration.prices import stepwise
from ..declaration.registry import NAMESPACES, api
from ..declaration.undifferentiable import refuse_derivative
from ..interop.looking import look

_CHECKING = " (while checking arguments for ctc_loss_allocate_outputs)"


def _symbols(targets: Any, lengths: Any, blank: int) -> Any:
    """The symbols (N, 2 S + 1) of padded targets (N, S), or of targets one behind the other."""
    longest = int(lengths.max(initial=0))
    symbols = np.full((len(lengths), 2 * longest + 1), blank, np.int64)
    if targets.ndim == 1:
        ends = np.cumsum(lengths)
        for row, end, n in zip(symbols, ends, lengths):
            row[1 : 2 * n : 2] = targets[end - n : end]
    else:
        for row, target, n in zip(symbols, targets, lengths):
            row[1 : 2 * n : 2] = target[:n]
    return symbols


def _may_skip(symbols: Any, blank: int) -> Any:
    """Whether a symbol may follow the one before the last."""
    skip = np.zeros(symbols.shape, bool)
    skip[:, 2:] = (symbols[:, 2:] != blank) & (symbols[:, 2:] != symbols[:, :-2])
    return skip


def _step(before: Any, skip: Any) -> Any:
    """Log sums over the ways to each symbol: the largest term is taken out of the sum, where it is finite."""
    padded = np.full((len(before), before.shape[1] + 2), -np.inf, before.dtype)
    padded[:, 2:] = before
    following, skipped = padded[:, 1:-1], np.where(skip, padded[:, :-2], -np.inf)
    top = np.maximum(np.maximum(before, following), skipped)
    np.maximum(top, np.finfo(before.dtype).min, out=top)
    total = np.exp(before - top)
    total += np.exp(following - top)
    total += np.exp(skipped - top)
    return np.log(total) + top


def _scores(log_probs: Any, symbols: Any) -> Any:
    """The log probability of each symbol at each time: (T, N, 2 S + 1)."""
    return np.take_along_axis(log_probs, np.broadcast_to(symbols, (len(log_probs), *symbols.shape)), 2)


def _forward(
    scores: Any, symbols: Any, input_lengths: Any, target_lengths: Any, blank: int
) -> tuple[Any, Any]:
    """The loss of each sequence, and alpha (T, N, 2 S + 1)."""
    alpha = np.full(scores.shape, -np.inf, scores.dtype)
    inside = np.arange(symbols.shape[1]) <= 2 * target_lengths[:, None]
    skip = _may_skip(symbols, blank)
    alpha[0, :, :2] = np.where(inside, scores[0], -np.inf)[:, :2]
    for t in range(1, len(scores)):
        alpha[t] = np.where(inside, _step(alpha[t - 1], skip) + scores[t], -np.inf)
    rows = np.arange(symbols.shape[0])
    last = alpha[input_lengths - 1, rows]
    label = np.where(target_lengths > 0, last[rows, 2 * target_lengths - 1], -np.inf)
    total = np.logaddexp(last[rows, 2 * target_lengths], label)
    total = np.where(input_lengths > 0, total, np.where(target_lengths > 0, -np.inf, 0))
    return -total.astype(scores.dtype, copy=False), alpha


def _backward(scores: Any, symbols: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """beta (T, N, 2 S + 1), which like alpha counts the symbol at its own time."""
    beta = np.full(scores.shape, -np.inf, scores.dtype)
    count = symbols.shape[1]
    position = np.arange(count)
    ends = (position == 2 * target_lengths[:, None]) | (position == 2 * target_lengths[:, None] - 1)
    # Seen from the end, a symbol is skipped to from the one two behind it.
    skip = np.zeros(symbols.shape, bool)
    skip[:, : count - 2] = _may_skip(symbols, blank)[:, 2:]
    after = np.full(symbols.shape, -np.inf, scores.dtype)
    for t in range(len(scores) - 1, -1, -1):
        here = _step(after[:, ::-1], skip[:, ::-1])[:, ::-1]
        start = (input_lengths - 1 == t)[:, None]
        here = np.where(start, np.where(ends, 0, -np.inf), here)
        after = beta[t] = np.where((input_lengths > t)[:, None], here + scores[t], -np.inf)
    return beta


def _loss_geometry(operands: Any, attributes: Any) -> Geometry:
    x = operands[0]
    return contiguous((x.shape[1],), x.dtype, x.device)


@operator("ctc_loss", _loss_geometry, price=stepwise)
def CTC_LOSS(
    m: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """Losses (N) of log probabilities (T, N, C)."""
    symbols = _symbols(targets, target_lengths, blank)
    with np.errstate(invalid="ignore"):
        return _forward(_scores(log_probs, symbols), symbols, input_lengths, target_lengths, blank)[0]


@operator(
    "ctc_loss_backward",
    lambda operands, _: contiguous(operands[1].shape, operands[1].dtype, operands[1].device),
    price=stepwise,
)
def CTC_LOSS_BACKWARD(
    m: Any,
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """The gradient by the log probabilities, taken as a log softmax."""
    symbols = _symbols(targets, target_lengths, blank)
    scores = _scores(log_probs, symbols)
    with np.errstate(invalid="ignore"):
        loss, alpha = _forward(scores, symbols, input_lengths, target_lengths, blank)
        both = alpha + _backward(scores, symbols, input_lengths, target_lengths, blank)
        share = np.where(both == -np.inf, 0, np.exp(both - scores + loss[:, None]))
    result = np.exp(log_probs)
    result[:, :, blank] -= share[:, :, ::2].sum(2)
    rows = np.arange(len(symbols))
    for k in range(1, symbols.shape[1], 2):  # symbols repeat in a row, positions do not
        result[:, rows, symbols[:, k]] -= share[:, :, k]
    endless = loss == np.inf
    result[:, endless] = 0 if zero_infinity else np.nan
    result *= grad[:, None]
    result[np.arange(len(scores))[:, None] >= input_lengths] = 0
    return result


@CTC_LOSS.derivative("log_probs", keeps="log_probs targets input_lengths target_lengths")
def _(
    ctx: Any, grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
) -> Tensor:
    found: Tensor = record(
        CTC_LOSS_BACKWARD, (grad, log_probs, targets, input_lengths, target_lengths), ctx.attributes
    )
    return found


refuse_derivative(CTC_LOSS_BACKWARD, "_ctc_loss_backward", "grad", "log_probs")


def _lengths(value: Any, name: str, device: Any) -> Tensor:
    if isinstance(value, Tensor):
        if value.dtype.category > dtypes.INTEGER or value.dtype is dtypes.bool_:
            raise RuntimeError(f"{name} must be integral")
        return value.to(dtypes.int64)
    return from_array(np.asarray(value, np.int64).reshape(-1), device=device)


def _check(log_probs: Tensor, targets: Tensor, inputs: Any, labels: Any, blank: int) -> None:
    """PyTorch's conditions on the arguments; the lengths are known."""
    steps, batch, classes = log_probs.shape
    if targets.ndim not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for "
                           f"argument #2 'targets'{_CHECKING}")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if len(inputs) != batch:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(labels) != batch:
        raise RuntimeError("target_lengths must be of size batch_size")
    for name, lengths in (("input_lengths", inputs), ("target_lengths", labels)):
        if (lengths < 0).any():
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {lengths.min()}{_CHECKING}"
            )
    longest, total = int(labels.max(initial=0)), int(labels.sum())
    if targets.ndim == 1 and targets.shape[0] != total:
        raise RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {targets.shape[0]} for "
            f"argument #2 'targets'{_CHECKING}"
        )
    if targets.ndim == 2:
        if targets.shape[0] != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} "
                f"for argument #2 'targets'{_CHECKING}"
            )
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                f"{targets.shape[1]} for argument #2 'targets'{_CHECKING}"
            )
    if (inputs > steps).any():
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value "
            f"{int(inputs[inputs > steps][0])}{_CHECKING}"
        )


@api("nn.functional")
@by_example
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log probability of label sequences under (T, N, C) over all alignments (Graves 2006).

    Targets are (N, S) or one behind the other; ``"mean"`` divides each loss by its target's length first.

    >>> import flambeau as torch
    >>> log_probs = torch.full((3, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), (3,), (1,))
    tensor(0.2877)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if blank.__class__ is not int or zero_infinity.__class__ is not bool or not all(
            isinstance(x, Tensor) for x in (log_probs, targets, input_lengths, target_lengths)):
        given = (log_probs, targets, input_lengths, target_lengths, blank, 0, zero_infinity)
        if (wrong := complaint(ctc_loss, "torch", "ctc_loss", given, {})) is not None:
            raise wrong
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("ctc_loss_cpu", log_probs.dtype)
    inputs = _lengths(input_lengths, "input_lengths", log_probs.device)
    labels = _lengths(target_lengths, "target_lengths", log_probs.device)
    single = log_probs.ndim == 2 and (
        not isinstance(input_lengths, Tensor) or input_lengths.ndim == 0 or len(input_lengths) == 1
    )
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 "
            f"'log_probs'{_CHECKING}"
        )
    inputs, labels = inputs.reshape(-1), labels.reshape(-1)
    _check(log_probs, targets, look(inputs, "ctc_loss"), look(labels, "ctc_loss"), blank)
    loss: Tensor = record(
        CTC_LOSS, (log_probs, targets.to(dtypes.int64), inputs, labels), (blank, bool(zero_infinity))
    )
    if zero_infinity:
        loss = NAMESPACES["torch"]["where"](loss == float("inf"), 0.0, loss)
    if single:
        loss, labels = loss.squeeze(0), labels.squeeze(0)
    if reduction == "mean":
        return (loss / labels.clamp_min(1).to(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss
