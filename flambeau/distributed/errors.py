"""Errors of communication between processes."""


class DistError(RuntimeError):
    """Communication between processes failed."""


class DistBackendError(DistError):
    """What carries out the communication failed."""


class DistNetworkError(DistError):
    """A connection failed."""


class DistStoreError(DistError):
    """A store did not have what was asked for in time."""


class QueueEmptyError(DistStoreError):
    """A queue had nothing to give."""
