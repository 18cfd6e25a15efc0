"""Where helping threads may run: on every processor but the one of the thread that calls them.

Note: staying apart. Linux often wakes a thread on the processor of who woke it, and leaves it waiting there
for some milliseconds, if no other one seems idle; and in a virtual machine none seems to be that has slept
for a while, as its host took it away. So the first program after a pause ran on one processor, in twice the
time. A helper's mask of processors therefore leaves out the one that its caller runs on, and is changed when
a caller runs elsewhere. Nothing is pinned: processes side by side still find their places.

Masks are the user's: a helper whose mask somebody else has changed is left alone from then on.
"""

from __future__ import annotations

import os

UNKNOWN, NOBODY_MINDS = -1, -2      # instead of the processor that is kept off
KNOWN = hasattr(os, "sched_setaffinity")
_MOST = 7   # helpers: each costs two calls of the system whenever their caller has moved


class Places:
    """The masks of helping threads."""

    def __init__(self) -> None:
        self._allowed: dict[int, set[int]] = {}     # when they began
        self._masks: dict[int, set[int]] = {}       # as they were left

    def add(self, thread: int | None) -> None:
        """A helper, by its number in the system."""
        if KNOWN and thread is not None:
            self._allowed[thread] = self._masks[thread] = os.sched_getaffinity(thread)

    def keep_off(self, processor: int) -> int:
        """Keep all helpers off a processor; which one they keep off now, or that nobody minds."""
        if len(self._allowed) > _MOST:
            return NOBODY_MINDS
        kept = [self._keep_one_off(thread, processor) for thread in list(self._allowed)]
        return processor if any(kept) else NOBODY_MINDS

    def _keep_one_off(self, thread: int, processor: int) -> bool:
        mask = self._allowed[thread] - {processor}
        try:
            if mask and os.sched_getaffinity(thread) == self._masks[thread]:
                os.sched_setaffinity(thread, mask)
                self._masks[thread] = mask
                return True
        except OSError:     # not allowed here
            pass
        del self._allowed[thread]
        return False
