"""``torch.cuda.amp.autocast_mode``: where programs look for ``autocast`` and its decorators."""

from . import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
