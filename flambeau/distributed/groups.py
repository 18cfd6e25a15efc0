"""Groups of processes: what stands for them in signatures. None was ever made, so ``WORLD`` is None."""

from __future__ import annotations

import enum
import os
from typing import Any, ClassVar, NoReturn

NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."


def require_group(group: Any = None) -> NoReturn:
    """What every function that communicates says first: there is no group."""
    raise ValueError(NO_GROUP)


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: Any = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
                       pg_options: Any = None, device_id: Any = None) -> NoReturn:
    """Set up the default group: an error, as of a PyTorch that was built without this backend.

    Programs may import it, and call it only where several processes were started.

    >>> import flambeau as torch
    >>> store = torch.distributed.HashStore()
    >>> torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    Traceback (most recent call last):
    RuntimeError: Distributed package doesn't have NCCL built in
    """
    raise RuntimeError(f"Distributed package doesn't have {(backend or Backend.GLOO).upper()} built in")


def destroy_process_group(group: Any = None) -> NoReturn:
    """Give up a group: there is none.

    >>> import flambeau as torch
    >>> torch.distributed.destroy_process_group()
    Traceback (most recent call last):
    AssertionError: Process group cannot be None
    """
    raise AssertionError("Process group cannot be None")


class RedOpType(enum.IntEnum):
    """How values of several processes are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"


class ReduceOp:
    """The ways to combine: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``, ..."""

    RedOpType: ClassVar[Any] = RedOpType
    SUM: ClassVar[Any] = RedOpType.SUM
    AVG: ClassVar[Any] = RedOpType.AVG
    PRODUCT: ClassVar[Any] = RedOpType.PRODUCT
    MIN: ClassVar[Any] = RedOpType.MIN
    MAX: ClassVar[Any] = RedOpType.MAX
    BAND: ClassVar[Any] = RedOpType.BAND
    BOR: ClassVar[Any] = RedOpType.BOR
    BXOR: ClassVar[Any] = RedOpType.BXOR
    PREMUL_SUM: ClassVar[Any] = RedOpType.PREMUL_SUM

    def __init__(self, op: RedOpType) -> None:
        self.op = RedOpType(op)

    def __eq__(self, other: object) -> bool:
        return self.op == (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)


class DebugLevel(enum.IntEnum):
    """What ``TORCH_DISTRIBUTED_DEBUG`` asks for."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class Backend(str):
    """The name of a way to communicate: a lower-case string."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class ProcessGroup:
    """The class of groups of processes: for annotations and ``isinstance``, nothing here is one."""

    def __init__(self, *args: Any) -> None:
        raise TypeError("flambeau has no communication between processes yet: no group can be made")


class Work:
    """The class of communications under way: for annotations and ``isinstance``, nothing here is one."""

    def __init__(self, *args: Any) -> None:
        raise TypeError("flambeau has no communication between processes yet: nothing is under way")


class GroupMember:
    """``WORLD``, the group of all processes, and the number of those outside a group."""

    WORLD: ClassVar[ProcessGroup | None] = None
    NON_GROUP_MEMBER: ClassVar[int] = -100


class group(GroupMember):
    """``group.WORLD``: the group of all processes; None, as none was set up."""


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, from ``LOCAL_RANK``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` "
        "to work, assuming you are not running in a multi-device context and want the code to run locally "
        "instead.")


def get_debug_level() -> DebugLevel:
    """What ``TORCH_DISTRIBUTED_DEBUG`` asks for."""
    return DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]
