"""``torch.cuda.amp.grad_scaler``: where programs look for ``GradScaler``."""

from . import GradScaler

__all__ = ["GradScaler"]
