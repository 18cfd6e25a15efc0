"""``torch.utils.tensorboard``: logs for TensorBoard, written with the package tensorboard."""

try:
    import tensorboard as _tensorboard  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError as error:
    raise ModuleNotFoundError("No module named 'tensorboard': install it to write logs for TensorBoard",
                              name="tensorboard") from error

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
