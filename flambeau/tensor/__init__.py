"""The tensor: a handle on (storage, geometry), recording, views and in-place writes."""

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
