"""``torch.profiler.profiler``: where programs look for ``profile`` and what belongs to it."""

from .profile import profile, tensorboard_trace_handler
from .ranges import ProfilerActivity, supported_activities
from .schedules import ProfilerAction, schedule

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities",
           "tensorboard_trace_handler"]
