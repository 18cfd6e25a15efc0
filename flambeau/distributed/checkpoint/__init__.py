"""``torch.distributed.checkpoint``: state dicts by parameters' names (``state_dict``), for one process.

Writing checkpoints in shards (``save``, ``load``) is absent.
"""

from . import state_dict as state_dict

__all__: list[str] = []
