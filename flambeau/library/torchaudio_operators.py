"""torchaudio's compiled operators, for which that package's binaries cannot be loaded here.

Recursive filters, overdrive, forced alignment and the transducer loss find their kernels through
``torch.ops.torchaudio``. torchaudio differentiates them itself, so they compute values alone.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import operators as ops
from ..tensor import Tensor
from .custom_ops import CustomOpDef
from .table import find, put


def provides(path: str) -> bool:
    """Whether a path is that of one of torchaudio's libraries of operators for CPUs."""
    folder, file = os.path.split(path)
    package = os.path.basename(os.path.dirname(folder))
    return package == "torchaudio" and file.partition(".")[0] in ("_torchaudio", "libtorchaudio")


def define() -> None:
    """Make ``torch.ops.torchaudio`` known."""
    if find("torchaudio::forced_align") is not None:
        return
    for name, function in (("torchaudio::_lfilter_core_loop", lfilter_core_loop),
                           ("torchaudio::_overdrive_core_loop", overdrive_core_loop),
                           ("torchaudio::forced_align", forced_align),
                           ("torchaudio::rnnt_loss_forward", rnnt_loss_forward),
                           ("_torchaudio::cuda_version", lambda: None),
                           ("_torchaudio::is_align_available", lambda: True)):
        put(_Known(name, function))


class _Known(CustomOpDef):
    """An operator whose kernel is called as it is: nothing is recorded for its derivative."""

    def __init__(self, name: str, function: Any) -> None:
        super().__init__(name, function)
        self._kernel = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._kernel(*args, **kwargs)


def _array(x: Tensor) -> Any:
    return x.detach().numpy()


def lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor,
                      padded_output_waveform: Tensor) -> Tensor:
    """The recursive part of a filter: y[t] = x[t] - sum_k a[k] y[t - k], written into the padded output.

    ``input_signal_windows`` (N, C, T), ``a_coeff_flipped`` (C, K), the last coefficient that of y[t];
    ``padded_output_waveform`` (N, C, T + K - 1) starts with the K - 1 values before.
    """
    x, taps = _array(input_signal_windows), _array(a_coeff_flipped)
    padded = _array(padded_output_waveform).copy()
    order = taps.shape[1]
    for t in range(x.shape[2]):
        window = padded[:, :, t:t + order]
        padded[:, :, t + order - 1] = x[:, :, t] - (window * taps).sum(axis=2)
    return padded_output_waveform.detach().copy_(ops.from_numpy(padded))


def overdrive_core_loop(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor,
                        output_waveform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """SoX' overdrive: the distorted signal ``temp`` (C, T) less its slow part, mixed with the clean one.

    o[t] = d[t] - d[t-1] + 0.995 o[t-1]; the output is half the waveform plus three quarters of o.
    """
    clean, distorted = _array(waveform), _array(temp)
    before, out = _array(last_in).copy(), _array(last_out).copy()
    written = np.empty_like(clean)
    for t in range(clean.shape[-1]):
        out = distorted[:, t] - before + clean.dtype.type(0.995) * out
        before = distorted[:, t]
        written[:, t] = clean[:, t] * 0.5 + out * 0.75
    return (last_in.copy_(ops.tensor(before)), last_out.copy_(ops.tensor(out)),
            output_waveform.copy_(ops.from_numpy(written)))


def forced_align(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
                 blank: int) -> tuple[Tensor, Tensor]:
    """The likeliest CTC path (1, T) through ``log_probs`` (1, T, C) that spells the targets; and log_probs.

    Viterbi over the targets with blanks between them: a step stays, goes on by one, or jumps a blank between
    two different labels.
    """
    if log_probs.size(0) != 1 or targets.size(0) != 1:
        raise RuntimeError("The batch dimension for log_probs must be 1 at the current version.")
    steps, labels = int(input_lengths[0]), _array(targets)[0, :int(target_lengths[0])]
    repeats = int((labels[1:] == labels[:-1]).sum())
    if steps < len(labels) + repeats:
        raise RuntimeError(f"targets length is too long for CTC. Found log_probs length: {steps}, targets "
                           f"length: {len(labels)}, and number of repeats: {repeats}")
    states = np.full(2 * len(labels) + 1, blank, dtype=np.int64)
    states[1::2] = labels
    path = np.full((1, log_probs.size(1)), blank, dtype=np.int64)
    path[0, :steps] = states[_viterbi(_array(log_probs)[0, :steps][:, states], states, blank)]
    return ops.tensor(path).to(targets.dtype), log_probs


def _viterbi(emitted: Any, states: Any, blank: int) -> Any:
    """The best state at each step, of emissions (T, S)."""
    steps, count = emitted.shape
    jumps = np.zeros(count, dtype=bool)
    jumps[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    score = np.full(count, -np.inf, dtype=emitted.dtype)
    score[:2] = emitted[0, :2]
    came = np.zeros((steps, count), dtype=np.int8)
    for t in range(1, steps):
        options = np.full((3, count), -np.inf, dtype=emitted.dtype)
        options[0] = score
        options[1, 1:] = score[:-1]
        options[2, 2:] = np.where(jumps[2:], score[:-2], -np.inf)
        came[t] = options.argmax(axis=0)
        score = options.max(axis=0) + emitted[t]
    place = count - 1 if count == 1 or score[-1] > score[-2] else count - 2
    path = np.empty(steps, dtype=np.int64)
    for t in range(steps - 1, -1, -1):
        path[t] = place
        place -= came[t, place]
    return path


def rnnt_loss_forward(logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor,
                      blank: int, clamp: float, fused_log_softmax: bool = True) -> tuple[Tensor, Tensor]:
    """The transducer loss (N,) of logits (N, T, U + 1, C), and its gradients (Graves 2012).

    Each is -log of the sum over all ways through the lattice, which emit a blank to go on in time or the next
    label. With ``fused_log_softmax`` the logits are normalized first; gradients are held to ``clamp``
    if that is positive.
    """
    given = _array(logits).astype(np.float64)
    labels = _array(targets)
    if fused_log_softmax:
        top = given.max(axis=-1, keepdims=True)
        given = given - top - np.log(np.exp(given - top).sum(axis=-1, keepdims=True))
    losses, gradient = np.zeros(len(given)), np.zeros_like(given)
    sizes = zip(logit_lengths.tolist(), target_lengths.tolist())
    for n, (steps, emitted) in enumerate(sizes):
        part = given[n, :steps, :emitted + 1]
        losses[n], gradient[n, :steps, :emitted + 1] = _transduced(part, labels[n, :emitted], blank)
    if fused_log_softmax:
        gradient -= np.exp(given) * gradient.sum(axis=-1, keepdims=True)
    if clamp > 0:
        gradient = gradient.clip(-clamp, clamp)
    return ops.tensor(losses).to(logits.dtype), ops.tensor(gradient).to(logits.dtype)


def _transduced(log_probs: Any, labels: Any, blank: int) -> tuple[float, Any]:
    """-log of one lattice's probability and its derivative by ``log_probs`` (T, U + 1, C).

    The derivative by the log probability of an edge is minus the share of the ways that take it.
    """
    steps, rows, _ = log_probs.shape
    on = log_probs[:, :, blank]
    emit = log_probs[:, np.arange(rows - 1), labels]
    reached = np.full((steps, rows), -np.inf)
    left = np.full((steps + 1, rows + 1), -np.inf)
    reached[0, 0] = left[steps, rows - 1] = 0.0
    for t in range(steps):
        for u in range(rows):
            if t:
                reached[t, u] = np.logaddexp(reached[t, u], reached[t - 1, u] + on[t - 1, u])
            if u:
                reached[t, u] = np.logaddexp(reached[t, u], reached[t, u - 1] + emit[t, u - 1])
    for t in range(steps - 1, -1, -1):
        for u in range(rows - 1, -1, -1):
            left[t, u] = left[t + 1, u] + on[t, u]
            if u < rows - 1:
                left[t, u] = np.logaddexp(left[t, u], left[t, u + 1] + emit[t, u])
    total = left[0, 0]
    gradient = np.zeros_like(log_probs)
    gradient[:, :, blank] = -np.exp(reached + on + left[1:, :rows] - total)
    gradient[:, np.arange(rows - 1), labels] -= np.exp(reached[:, :-1] + emit + left[:steps, 1:rows] - total)
    return -float(total), gradient
