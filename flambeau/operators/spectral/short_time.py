"""The short-time Fourier transform and its inverse (Allen and Rabiner 1977; Griffin and Lim 1984)."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ...tensor.batching import by_example
from ...tensor.warned import warn, warn_once
from ..calls.arguments import invalid_combination
from ..declaration.registry import NAMESPACES, api
from ..interop.looking import look


def _shown(x: Any) -> str:
    """A tensor's type as PyTorch's messages of ``stft`` show it."""
    return f"torch.{dtypes.SCALAR_NAMES[x.dtype]}Tensor"


def _stft_call(
    x: Tensor,
    n_fft: int,
    hop: int,
    length: int,
    window: Any,
    normalized: bool,
    onesided: Any,
    return_complex: Any,
    align: Any,
) -> str:
    """The call as PyTorch's messages show it."""
    held = "None" if window is None else f"{_shown(window)}{{{list(window.shape)}}}"
    flags = ", ".join(
        f"{name}={value if value is None else int(value)}"
        for name, value in (
            ("normalized", normalized),
            ("onesided", onesided),
            ("return_complex", return_complex),
            ("align_to_window", align),
        )
    )
    return (
        f"stft({_shown(x)}{list(x.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={held}, {flags}) : "
    )


@api("torch")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping windows of a signal: (L) or (B, L) gives (B, frequencies, frames).

        X[w, m] = sum_k window[k] input[m hop_length + k] exp(-2 pi i w k / n_fft)

    >>> import flambeau as torch
    >>> torch.stft(torch.ones(8), 4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        pad: Any = NAMESPACES["nn.functional"]["pad"]
        widened = input.reshape(*[1] * (3 - input.ndim), *input.shape)
        widened = pad(widened, [int(n_fft // 2)] * 2, pad_mode)
        input = widened.reshape(widened.shape[3 - input.ndim :])
    return _stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


@api("Tensor", name="stft")
def _stft_method(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """See ``torch.stft``.

    >>> import flambeau as torch
    >>> torch.arange(8.0).stft(4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    return stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        center,
        pad_mode,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


_STFT = tuple([
    "Tensor input, int n_fft, int hop_length = None, int win_length = None, Tensor window = None, " + centered
    + "bool normalized = False, bool onesided = None, bool return_complex = None, bool align_to_window = None"
    for centered in ('bool center = True, str pad_mode = "reflect", ', "")])
_WITHOUT_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral "
    "leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce "
    "spectral leakage.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`.")
_AS_REAL = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
    "tensors for all inputs, and return_complex=False will raise an error.\nNote: you can still call "
    "torch.view_as_real on the complex output to recover the old return format.")


def _stft(
    x: Tensor,
    n_fft: int,
    hop_length: Any,
    win_length: Any,
    window: Any,
    normalized: bool,
    onesided: Any,
    return_complex: Any,
    align: Any,
) -> Tensor:
    if not isinstance(normalized, bool) or any(
            flag is not None and not isinstance(flag, bool) for flag in (onesided, return_complex, align)):
        given = x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align
        raise invalid_combination("stft", _STFT, given, {})
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    call = _stft_call(x, n_fft, hop, length, window, normalized, onesided, return_complex, align)
    complex_input = x.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not complex_input:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require "
            "that return_complex=True in a future PyTorch release."
        )
    _check_stft(x, n_fft, hop, length, window, call)
    if window is None:
        warn_once(_WITHOUT_WINDOW)
    if complex_input and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if return_complex is not None and not return_complex:
        warn(_AS_REAL)
    frames = _frames(x.reshape(1, -1) if x.ndim == 1 else x, n_fft, hop, length, window, align)
    half = not complex_input if onesided is None else onesided
    transform: Any = NAMESPACES["fft"]["rfft" if half else "fft"]
    result: Tensor = transform(frames, norm="ortho" if normalized else None).transpose(1, 2)
    if x.ndim == 1:
        result = result.squeeze(0)
    if return_complex or return_complex is None:    # which only complex input may leave open
        return result
    return NAMESPACES["torch"]["view_as_real"](result)


def _check_stft(x: Tensor, n_fft: int, hop: int, length: int, window: Any, call: str) -> None:
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(call + "expected a tensor of floating point or complex values")
    if x.ndim not in (1, 2):
        raise RuntimeError(call + "expected a 1D or 2D tensor")
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(call + f"expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(call + f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(call + f"expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(
            call + f"expected a 1D window tensor of size equal to win_length={length}, but got window with "
            f"size {list(window.shape)}"
        )


def _frames(x: Tensor, n_fft: int, hop: int, length: int, window: Any, align: Any) -> Tensor:
    """The windowed pieces of signals: (B, L) gives (B, frames, n_fft)."""
    window = _padded_window(window, length, n_fft, x)
    if align and length < n_fft:
        lead = (n_fft - length) // 2
        x = NAMESPACES["nn.functional"]["pad"](x, [lead, n_fft - length - lead])
    frames = x.unfold(-1, n_fft, hop)
    return frames if window is None else frames * window


def _padded_window(window: Any, length: int, n_fft: int, like: Tensor) -> Any:
    """The window in the middle of ``n_fft`` elements; None where it is all ones."""
    if length == n_fft:
        return window
    if window is None:
        window = like.new_ones(length)
    lead = (n_fft - length) // 2
    return NAMESPACES["nn.functional"]["pad"](window, [lead, n_fft - length - lead])


# --- inverse ------------------------------------------------------------------------------------------------


def _istft_call(x: Tensor, n_fft: int, hop: int, length: int, window: Any, *flags: Any) -> str:
    kind = f"CPU{dtypes.SCALAR_NAMES[x.dtype]}Type{list(x.shape)}"
    held = "None" if window is None else f"{_shown(window)}{{{list(window.shape)}}}"
    names = ("center", "normalized", "onesided", "length", "return_complex")
    shown = ", ".join(f"{name}={value if value is None else int(value)}" for name, value in zip(names, flags))
    return f"istft({kind}, n_fft={n_fft}, hop_length={hop}, win_length={length}, window={held}, {shown}) "


@api("torch", "Tensor", judge="first")
@by_example
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of ``stft``: overlapping frames added, divided by the sum of the squared windows.

    >>> import flambeau as torch
    >>> x, w = torch.tensor([1., 2., 3., 4., 5., 6., 7., 8.]), torch.ones(4)
    >>> torch.istft(torch.stft(x, 4, window=w, return_complex=True), 4, window=w)
    tensor([1., 2., 3., 4., 5., 6., 7., 8.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    wide = n_fft if win_length is None else win_length
    call = _istft_call(input, n_fft, hop, wide, window, center, normalized, onesided, length, return_complex)
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    single = input.ndim == 2
    x = input.unsqueeze(0) if single else input
    onesided = _check_istft(x, n_fft, hop, wide, window, onesided, return_complex, call)
    norm = "ortho" if normalized else None
    frames = x.transpose(1, 2)
    if return_complex:
        frames = NAMESPACES["fft"]["ifft"](frames, norm=norm)
    else:
        frames = NAMESPACES["fft"]["irfft"](
            frames if onesided else frames[..., : n_fft // 2 + 1], n_fft, norm=norm
        )
    signal = _overlapped(frames, _padded_window(window, wide, n_fft, frames), hop, center, length, call)
    return signal.squeeze(0) if single else signal


def _check_istft(
    x: Tensor,
    n_fft: int,
    hop: int,
    wide: int,
    window: Any,
    onesided: bool | None,
    return_complex: bool,
    call: str,
) -> bool:
    """Raise for what cannot be inverted; returns whether the spectrum is half of one."""
    if not x.numel():
        raise RuntimeError(call + ": input tensor cannot be empty.")
    if x.ndim != 3:
        raise RuntimeError(call + f": expected a tensor with 3 or 4 dimensions, but got {x.ndim + 1}")
    if onesided is None:
        onesided = x.shape[1] != n_fft
    if onesided and n_fft // 2 + 1 != x.shape[1]:
        raise RuntimeError(
            call
            + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / "
            f"2 + 1 when onesided=True, but got {x.shape[1]}"
        )
    if not onesided and n_fft != x.shape[1]:
        raise RuntimeError(
            call + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
            f"when onesided=False, but got {x.shape[1]}"
        )
    if not 0 < hop <= wide:
        raise RuntimeError(call + ": expected 0 < hop_length <= win_length")
    if not 0 < wide <= n_fft:
        raise RuntimeError(call + ": expected 0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != wide):
        raise RuntimeError(call + ": Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    return onesided


def _overlapped(frames: Tensor, window: Any, hop: int, center: bool, length: int | None, call: str) -> Tensor:
    """Frames (B, M, N), windowed and added where they overlap, over the windows' squares added likewise."""
    arange: Any = NAMESPACES["torch"]["arange"]
    batch, count, n = frames.shape
    total = n + hop * (count - 1)
    place = (arange(count).unsqueeze(1) * hop + arange(n)).reshape(-1)
    if window is None:
        window = frames.new_ones(n)
    weighted = (frames * window).reshape(batch, -1)
    signal = weighted.new_zeros(batch, total).index_add(1, place, weighted)
    square = (window * window).expand(count, n).reshape(-1)
    envelope = square.new_zeros(total).index_add(0, place, square)
    start = n // 2 if center else 0
    end = start + length if length is not None else total - n // 2 if center else total
    signal, envelope = signal[:, start:end], envelope[start:end]
    if envelope.numel() and not look(envelope.abs().min() > 1e-11, "istft"):
        raise RuntimeError(call + "window overlap add min: 1\n[ CPUBoolType{} ]")
    signal = signal / envelope
    if length is not None and signal.shape[1] < length:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in "
            "the tail. Please check your center and hop_length settings.")
        signal = NAMESPACES["nn.functional"]["pad"](signal, [0, length - signal.shape[1]])
    return signal
