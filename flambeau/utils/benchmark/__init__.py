"""``torch.utils.benchmark``: how long a statement takes, with its spread, and tables that compare."""

from .compare import Compare
from .measurement import Measurement, TaskSpec, ordered_unique
from .timer import Timer, set_torch_threads, timer
from .units import select_unit, trim_sigfig, unit_to_english

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "ordered_unique", "select_unit",
           "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]
