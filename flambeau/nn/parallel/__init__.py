"""Running one module on several devices (`torch.nn.parallel`)."""

from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
