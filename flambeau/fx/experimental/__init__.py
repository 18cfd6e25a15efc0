"""``torch.fx.experimental``: what libraries ask about tracers of operators."""

from typing import TYPE_CHECKING

from ..._later import submodules

if not TYPE_CHECKING:
    __getattr__ = submodules(__name__, "optimization", "proxy_tensor")
