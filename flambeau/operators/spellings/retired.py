"""Functions that PyTorch has removed: they raise, and say what to call instead."""

from __future__ import annotations

from typing import Any, NoReturn

from ..declaration.registry import api

_REMOVED = "This function was deprecated since version 1.9 and is now removed. "


@api("torch", "Tensor")
def eig(self: Any, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.eig``."""
    raise RuntimeError(_REMOVED + "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` "
                                  "rather than real tensors mimicking complex tensors.")


@api("torch", "Tensor")
def symeig(input: Any, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.eigh``."""
    raise RuntimeError(_REMOVED + "`torch.linalg.eigvalsh` and `torch.linalg.eigh` read the lower triangle "
                                  "unless told otherwise (`UPLO='U'`).")


@api("torch", "Tensor")
def lstsq(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.lstsq``."""
    raise RuntimeError(_REMOVED + "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, which "
                                  "has its arguments reversed and gives no QR decomposition.")


@api("torch", "Tensor", judge="first")
def solve(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.solve``."""
    raise RuntimeError(_REMOVED + "`torch.solve` is deprecated in favor of `torch.linalg.solve`, which "
                                  "has its arguments reversed and gives no LU factorization.")


@api("torch", judge="first")
def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.matrix_rank``."""
    raise RuntimeError(_REMOVED.rstrip() + "\nPlease use the `torch.linalg.matrix_rank` function instead. "
                                           "The parameter 'symmetric' was renamed in "
                                           "`torch.linalg.matrix_rank()` to 'hermitian'.")


@api("Tensor")
def reinforce(self: Any, reward: Any) -> NoReturn:
    """Removed: ``torch.distributions``."""
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.\nSee "
                       "https://pytorch.org/docs/main/distributions.html")
