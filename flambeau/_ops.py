"""``torch._ops``: the classes of what ``torch.ops`` holds."""

from __future__ import annotations

from .library.table import Overload as OpOverload
from .library.table import Packet as OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket"]
