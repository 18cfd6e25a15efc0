"""``torch.fx.passes``: what libraries do to graphs, or find out about them."""

from typing import TYPE_CHECKING

from ..._later import submodules

if not TYPE_CHECKING:
    __getattr__ = submodules(__name__, "shape_prop")
