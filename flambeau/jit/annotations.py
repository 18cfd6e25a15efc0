"""``torch.jit.annotations``: the names with which code written for TorchScript annotates its functions."""

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 (the names are the point)


class BroadcastingListCls:
    """``BroadcastingList2[int]``: a pair, or one number that stands for both; a note for readers."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "List",
           "Optional", "Tuple", "Union"]
