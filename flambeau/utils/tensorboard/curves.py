"""Precision-recall curves and charts of several numbers, as TensorBoard's messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    TensorProto,
)
from tensorboard.compat.proto.tensor_shape_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    TensorShapeProto,
)

from .summary import as_array

_MOST_THRESHOLDS = 127


def counts_and_rates(labels: Any, predictions: Any, thresholds: int, weights: Any) -> list[Any]:
    """True and false positives, true and false negatives, precision and recall at each threshold."""
    positive = as_array(labels).reshape(-1).astype(np.float64)
    weight = 1.0 if weights is None else as_array(weights).reshape(-1)
    place = (as_array(predictions).reshape(-1) * (thresholds - 1)).astype(np.int64)
    true, false = (np.bincount(place, share * weight, thresholds)[::-1].cumsum()[::-1]
                   for share in (positive, 1 - positive))
    missed = true[0] - true
    return [true, false, false[0] - false, missed,
            true / np.maximum(true + false, 1e-7), true / np.maximum(true + missed, 1e-7)]


def precision_recall(tag: str, rows: list[Any], thresholds: int) -> Any:
    """The six rows of ``counts_and_rates``."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        PrCurvePluginData,
    )

    data = np.stack([as_array(row) for row in rows])
    content = PrCurvePluginData(version=0, num_thresholds=min(thresholds, _MOST_THRESHOLDS))
    extents = [TensorShapeProto.Dim(size=n) for n in data.shape]
    tensor = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(),
                         tensor_shape=TensorShapeProto(dim=extents))
    return _shown(tag, "pr_curves", content.SerializeToString(), tensor)


def precision_recall_of(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """The curve of predictions between 0 and 1."""
    taken = min(thresholds, _MOST_THRESHOLDS)
    return precision_recall(tag, counts_and_rates(labels, predictions, taken, weights), taken)


def charts(layout: dict[str, dict[str, Any]]) -> Any:
    """Which numbers stand together: category -> title -> ("Multiline", tags) or ("Margin", three tags)."""
    from tensorboard.plugins.custom_scalar import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        layout_pb2,
    )

    categories = []
    for category, found in layout.items():
        made = []
        for title, (kind, tags) in found.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"a chart with a margin shows three numbers, but got {len(tags)}")
                value, lower, upper = tags
                series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
                made.append(layout_pb2.Chart(title=title,
                                             margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title,
                                             multiline=layout_pb2.MultilineChartContent(tag=tags)))
        categories.append(layout_pb2.Category(title=category, chart=made))
    written = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[written], tensor_shape=TensorShapeProto())
    return _shown("custom_scalars__config__", "custom_scalars", b"", tensor)


def _shown(tag: str, plugin: str, content: bytes, tensor: Any) -> Any:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=data), tensor=tensor)])
