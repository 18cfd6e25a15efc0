"""Communication between processes.

Each function starts, as in PyTorch, with the question for a process group. There is none and none can be set
up (``init_process_group`` knows no backend), so each raises PyTorch's error for that case; programs that ask
``is_available()`` or ``is_initialized()`` first do not come here.
"""

from __future__ import annotations

from typing import Any

from .groups import ReduceOp, require_group


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Combine a tensor of all processes, in place."""
    require_group(group)


def broadcast(tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None) -> Any:
    """Give a tensor of one process to all."""
    require_group(group)


def reduce(tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Any:
    """Combine a tensor of all processes on one."""
    require_group(group)


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Collect the tensors of all processes on all."""
    require_group(group)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None,
                           async_op: bool = False) -> Any:
    """Collect the tensors of all processes in one tensor."""
    require_group(group)


def gather(tensor: Any, gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Any:
    """Collect the tensors of all processes on one."""
    require_group(group)


def scatter(tensor: Any, scatter_list: list[Any] | None = None, src: int | None = None, group: Any = None,
            async_op: bool = False, group_src: int | None = None) -> Any:
    """Hand a list's tensors out, one to each process."""
    require_group(group)


def reduce_scatter(output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None,
                   async_op: bool = False) -> Any:
    """Combine lists of tensors and hand the results out."""
    require_group(group)


def reduce_scatter_tensor(output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False) -> Any:
    """Combine a tensor and hand its pieces out."""
    require_group(group)


def all_to_all(output_tensor_list: list[Any], input_tensor_list: list[Any], group: Any = None,
               async_op: bool = False) -> Any:
    """Exchange tensors, each process with each."""
    require_group(group)


def all_to_all_single(output: Any, input: Any, output_split_sizes: Any = None,
                      input_split_sizes: Any = None, group: Any = None, async_op: bool = False) -> Any:
    """Exchange pieces of a tensor, each process with each."""
    require_group(group)


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
         group_dst: int | None = None) -> Any:
    """Send a tensor to a process."""
    require_group(group)


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
         group_src: int | None = None) -> Any:
    """Receive a tensor from a process."""
    require_group(group)


def isend(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
          group_dst: int | None = None) -> Any:
    """Begin to send a tensor to a process."""
    require_group(group)


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
          group_src: int | None = None) -> Any:
    """Begin to receive a tensor from a process."""
    require_group(group)


def batch_isend_irecv(p2p_op_list: list[Any]) -> Any:
    """Begin to send and receive several tensors."""
    require_group()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Any:
    """Wait for all processes."""
    require_group(group)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> Any:
    """Wait for all processes, naming those that do not come."""
    require_group(group)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> Any:
    """Collect objects of all processes on all."""
    require_group(group)


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
                  group: Any = None, group_dst: int | None = None) -> Any:
    """Collect objects of all processes on one."""
    require_group(group)


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None,
                          device: Any = None, group_src: int | None = None) -> Any:
    """Give objects of one process to all."""
    require_group(group)


def scatter_object_list(scatter_object_output_list: list[Any],
                        scatter_object_input_list: list[Any] | None = None, src: int | None = None,
                        group: Any = None, group_src: int | None = None) -> Any:
    """Hand a list's objects out, one to each process."""
    require_group(group)


def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
              use_local_synchronization: bool = False, group_desc: Any = None, device_id: Any = None,
              sort_ranks: bool = True) -> Any:
    """A group of some of the processes."""
    require_group()


def get_backend(group: Any = None) -> Any:
    """How a group communicates."""
    require_group(group)


def get_backend_config(group: Any = None) -> Any:
    """How a group communicates, by type of device."""
    require_group(group)


def get_process_group_ranks(group: Any) -> Any:
    """The numbers of a group's processes."""
    require_group(group)
