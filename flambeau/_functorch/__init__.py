"""``torch._functorch``: the steps of ``vmap``, which libraries of containers of tensors replace."""

from . import vmap as vmap

__all__ = ["vmap"]
