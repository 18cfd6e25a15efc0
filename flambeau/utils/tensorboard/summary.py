"""Values as TensorBoard's messages."""

from __future__ import annotations

import io
import numbers
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    TensorProto,
)
from tensorboard.compat.proto.tensor_shape_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    TensorShapeProto,
)

from ...tensor import Tensor


def as_array(x: Any) -> Any:
    """Tensors and numbers as NumPy arrays."""
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        x = x.float().numpy() if x.dtype.itemsize < 4 and x.is_floating_point() else x.numpy()
    elif isinstance(x, (list, tuple)) and x and isinstance(x[0], Tensor):
        x = [as_array(value) for value in x]
    elif not isinstance(x, (np.ndarray, np.generic, numbers.Number, str)):
        raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
    return np.asarray(x)


def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """One number."""
    found = as_array(value).squeeze()
    if found.ndim != 0:
        raise AssertionError("Tensor should contain one element (0 dimensions).             Was given size: "
                             f"{found.size} and {found.ndim} dimensions.")
    number = float(found)
    if not (new_style or double_precision):
        return Summary(value=[Summary.Value(tag=tag, simple_value=number)])
    kind, field = ("DT_DOUBLE", "double_val") if double_precision else ("DT_FLOAT", "float_val")
    tensor = TensorProto(dtype=kind, **{field: [number]})
    return Summary(value=[Summary.Value(tag=tag, tensor=tensor, metadata=_metadata("scalars"))])


def _metadata(plugin: str, content: bytes = b"") -> Any:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _exponential_edges() -> list[float]:
    """Edges that grow by a tenth from 1e-12 to 1e20, of either sign, and 0: TensorFlow's."""
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return [-edge for edge in reversed(positive)] + [0.0] + positive


_EDGES = _exponential_edges()


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How often values lie where."""
    found = as_array(values).reshape(-1).astype(np.float64)
    if found.size == 0:
        raise ValueError("The input has no element.")
    if isinstance(bins, str) and bins == "tensorflow":
        bins = _EDGES
    counts, limits = np.histogram(found, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        padded = np.pad(counts, (0, -len(counts) % step))
        counts = padded.reshape(-1, step).sum(1)
        limits = np.append(limits[:-1:step], limits[-1])
    taken = np.flatnonzero(counts)
    if not taken.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(taken[0]), int(taken[-1])
    # The bin before the first one that has values is kept, empty: its limit is where they begin.
    kept = [0, *counts[first:last + 1]] if first == 0 else list(counts[first - 1:last + 1])
    edges = limits[first:last + 2]
    message = HistogramProto(min=found.min(), max=found.max(), num=len(found), sum=found.sum(),
                             sum_squares=found.dot(found), bucket_limit=edges.tolist(),
                             bucket=[float(count) for count in kept])
    return Summary(value=[Summary.Value(tag=tag, histo=message)])


def _height_width_channels(x: Any, dataformats: str) -> Any:
    """An array as (H, W, C); of several, (N, H, W, C), all side by side in one grid."""
    if len(dataformats) != x.ndim or len(set(dataformats)) != x.ndim:
        raise AssertionError(f"size of input tensor and input format are different. tensor shape: {x.shape}, "
                             f"input_format: {dataformats}")
    form = dataformats.upper()
    if "N" in form:
        x = np.transpose(x, [form.index(c) for c in "NHWC"])
        count, (height, width, channels) = len(x), x.shape[1:]
        columns = min(count, 8)
        rows = -(-count // columns)
        grid = np.zeros((rows * columns, height, width, channels), x.dtype)
        grid[:count] = x
        x = grid.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
        x = x.reshape(rows * height, columns * width, channels)
    elif form == "HW":
        x = x[:, :, None]
    else:
        x = np.transpose(x, [form.index(c) for c in "HWC"])
    return np.repeat(x, 3, axis=2) if x.shape[2] == 1 else x


def image(tag: str, values: Any, dataformats: str) -> Any:
    """A picture: bytes from 0 to 255, floats from 0 to 1."""
    found = as_array(values)
    factor = 1 if found.dtype == np.uint8 else 255
    pixels = _height_width_channels(found, dataformats)
    pixels = (pixels.astype(np.float32) * factor).clip(0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    shown = Summary.Image(height=height, width=width, colorspace=channels,
                          encoded_image_string=image_bytes(pixels))
    return Summary(value=[Summary.Value(tag=tag, image=shown)])


def image_bytes(pixels: Any) -> bytes:
    """Bytes (H, W, C) as a PNG file."""
    from PIL import Image  # type: ignore[import-untyped,import-not-found,unused-ignore]

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


def tensor(tag: str, values: Any) -> Any:
    """A tensor as it is."""
    found = as_array(values)
    extents = [TensorShapeProto.Dim(size=n) for n in found.shape]
    made = TensorProto(dtype="DT_FLOAT", float_val=found.reshape(-1).tolist(),
                       tensor_shape=TensorShapeProto(dim=extents))
    return Summary(value=[Summary.Value(tag=tag, tensor=made, metadata=_metadata("tensor"))])


def text(tag: str, value: str) -> Any:
    """Text, as Markdown."""
    tensor = TensorProto(dtype="DT_STRING", string_val=[value.encode("utf-8")],
                         tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]))
    metadata = _metadata("text")
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)])


def hparams(values: dict[str, Any], metrics: dict[str, Any]) -> list[Any]:
    """Hyperparameters: the experiment, the beginning and the end of a session."""
    from tensorboard.plugins.hparams import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        api_pb2,
        metadata,
        plugin_data_pb2,
    )

    plain = {name: as_array(value).item() if isinstance(value, Tensor) else value
             for name, value in values.items()}
    infos = [api_pb2.HParamInfo(name=name, type=_kind_of(value)) for name, value in plain.items()]
    outcomes = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    begun = plugin_data_pb2.SessionStartInfo()
    for name, value in plain.items():
        field = {bool: "bool_value", str: "string_value"}.get(type(value), "number_value")
        setattr(begun.hparams[name], field, value)
    ended = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    parts = [(metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos,
                                                                         metric_infos=outcomes)}),
             (metadata.SESSION_START_INFO_TAG, {"session_start_info": begun}),
             (metadata.SESSION_END_INFO_TAG, {"session_end_info": ended})]
    found = []
    for tag, content in parts:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        shown = _metadata(metadata.PLUGIN_NAME, data.SerializeToString())
        found.append(Summary(value=[Summary.Value(tag=tag, metadata=shown)]))
    return found


def _kind_of(value: Any) -> Any:
    from tensorboard.plugins.hparams import api_pb2

    if isinstance(value, bool):
        return api_pb2.DataType.Value("DATA_TYPE_BOOL")
    if isinstance(value, (int, float)):
        return api_pb2.DataType.Value("DATA_TYPE_FLOAT64")
    if isinstance(value, str):
        return api_pb2.DataType.Value("DATA_TYPE_STRING")
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
