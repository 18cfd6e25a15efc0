"""Points for TensorBoard's projector: tables of numbers and labels, pictures in a grid, a list of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .summary import as_array, image_bytes


def write_points(folder: Path, name: str, points: Any, labels: Any, header: Any, pictures: Any) -> Any:
    """Write (N, D) points below ``folder``/``name``, and what is known of each; the projector's entry."""
    from tensorboard.plugins.projector.projector_config_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        EmbeddingInfo,
    )

    place = folder / name
    if place.exists():
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    place.mkdir(parents=True, exist_ok=True)
    found = as_array(points)
    if found.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    entry = EmbeddingInfo(tensor_path=f"{name}/tensors.tsv")
    if labels is not None:
        if len(labels) != len(found):
            raise AssertionError("#labels should equal with #data points")
        rows = [header, *labels] if header else labels
        lines = ["\t".join(str(x) for x in row) if header else str(row) for row in rows]
        (place / "metadata.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        entry.metadata_path = f"{name}/metadata.tsv"
    if pictures is not None:
        if len(pictures) != len(found):
            raise AssertionError("#images should equal with #data points")
        sprite = _grid(as_array(pictures))
        (place / "sprite.png").write_bytes(image_bytes(sprite))
        entry.sprite.image_path = f"{name}/sprite.png"
        entry.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    lines = ["\t".join(str(x) for x in row) for row in found.tolist()]
    (place / "tensors.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return entry


def _grid(pictures: Any) -> Any:
    """(N, C, H, W) as bytes (n H, n W, C) of n x n pictures, of which the last are black."""
    count, channels, height, width = pictures.shape
    side = math.ceil(math.sqrt(count))
    cells = np.zeros((side * side, channels, height, width), np.float32)
    cells[:count] = pictures
    square = cells.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2)
    pixels = square.reshape(side * height, side * width, channels) * 255
    return pixels.clip(0, 255).astype(np.uint8)


def list_points(folder: Path, entry: Any) -> None:
    """Add an entry to the list that the projector reads."""
    from google.protobuf import text_format  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from tensorboard.plugins.projector.projector_config_pb2 import (
        ProjectorConfig,
    )

    listed = text_format.MessageToString(ProjectorConfig(embeddings=[entry]))
    with open(folder / "projector_config.pbtxt", "a", encoding="utf-8") as file:
        file.write(listed)
