"""``torch.profiler``: what was computed, for how long, within which ranges of the program.

While a profiler records, the engine measures each kernel, and the borders of ranges (``record_function``,
steps) are looks, so that a kernel is counted to the range that recorded it.
"""

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profile import profile, tensorboard_trace_handler
from .ranges import ProfilerActivity, record_function, supported_activities
from .schedules import ProfilerAction, schedule


def kineto_available() -> bool:
    """Whether PyTorch's tracing library is there: no."""
    return False


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity",
           "kineto_available", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]
