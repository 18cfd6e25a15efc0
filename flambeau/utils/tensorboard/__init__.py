"""``torch.utils.tensorboard``: logs for TensorBoard, written with the package tensorboard."""

try:
    import tensorboard as _tensorboard  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError as error:
    raise ImportError("TensorBoard logging needs the package tensorboard, which is not there") from error

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
