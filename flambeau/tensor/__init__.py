"""The tensor: a handle on (storage, geometry), recording, views and in-place writes.

``tensor`` is the class, ``recording`` how an operation is put down, ``tape`` what that leaves for backward,
``aliasing`` views and writes through them, ``samples`` what a data loader does to each sample. ``batching``
is what ``vmap`` gives functions, ``overrides`` the way of classes with ``__torch_function__``;
``construct``, ``generator``, ``storage_view`` and the small modules are what users see of data, random
states and memory.
"""

from . import legacy, subclass_attributes
from .aliasing.inplace import assign, check_writable
from .aliasing.views import seen, view, view_operator
from .dims import check_dim
from .recording.composed import composed
from .recording.record import record, record_numbers, record_one, record_pair, record_scaled, record_three
from .tape import INFERENCE, GradFn, state
from .tensor import Tensor, fresh

__all__ = ["INFERENCE", "GradFn", "Tensor", "assign", "check_dim", "check_writable", "composed", "fresh",
           "record", "record_numbers", "record_one", "record_pair", "record_scaled", "record_three", "seen",
           "state", "view", "view_operator"]
