"""torchvision's compiled operators, for which that package's binaries cannot be loaded here.

Detection models and ``torchvision.ops`` find ``nms``, ``roi_align``, ``roi_pool`` and ``deform_conv2d``
through ``torch.ops.torchvision``. They are written on tensors, so that gradients come by themselves. The
position-sensitive and quantized variants are declared but have no kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import operators as ops
from ..tensor import Tensor
from .custom_ops import CustomOpDef
from .table import find, put


class _Composite(CustomOpDef):
    """An operator made of other operators: what it calls records and differentiates."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(f"torchvision::{name}", function)
        self._composed = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._autocast and (kernel := self.autocast_kernel()) is not None:
            return kernel(*args, **kwargs)
        if self._fake is not None and any(isinstance(x, Tensor) and x.device.type == "meta" for x in args):
            return self._fake(*args, **kwargs)
        return self._composed(*args, **kwargs)


def provides(path: str) -> bool:
    """Whether a path is that of torchvision's library of operators."""
    folder, file = os.path.split(path)
    return os.path.basename(folder) == "torchvision" and file.partition(".")[0] in ("_C", "_C_stable")


def define() -> None:
    """Make ``torch.ops.torchvision`` known."""
    if find("torchvision::nms") is not None:
        return
    for name, function in (("nms", nms), ("roi_align", roi_align), ("roi_pool", roi_pool),
                           ("deform_conv2d", deform_conv2d), ("_cuda_version", lambda: -1)):
        put(_Composite(name, function))
    for name in ("ps_roi_align", "ps_roi_pool", "qnms", "qroi_align", "_roi_align_backward",
                 "_roi_pool_backward", "_ps_roi_align_backward", "_ps_roi_pool_backward",
                 "_deform_conv2d_backward"):
        put(CustomOpDef(f"torchvision::{name}", None))


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices of boxes (N, 4) kept, best score first: each drops later ones that overlap it by more.

    The overlap is intersection over union.
    """
    boxes = dets.detach().numpy().astype(np.float64 if str(dets.dtype) == "torch.float64" else np.float32)
    order = np.argsort(-scores.detach().numpy(), kind="stable")
    left, top, right, bottom = boxes.T
    areas = (right - left) * (bottom - top)
    kept = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        width = np.minimum(right[best], right[order]) - np.maximum(left[best], left[order])
        height = np.minimum(bottom[best], bottom[order]) - np.maximum(top[best], top[order])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            order = order[~(shared / (areas[best] + areas[order] - shared) > iou_threshold)]
    return ops.tensor(np.array(kept, dtype=np.int64))


def _bilinear(image: Tensor, y: Tensor, x: Tensor, low: float) -> Tensor:
    """Values (C, n) of an image (C, H, W) at points; zero from ``low`` on outside, clamped at the border."""
    channels, height, width = image.shape
    inside = (y >= low) & (y <= height) & (x >= low) & (x <= width)
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    y0, x0 = y.detach().floor(), x.detach().floor()
    flat = image.reshape(channels, height * width)
    total: Any = 0
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = (y0 + dy).clamp(max=height - 1), (x0 + dx).clamp(max=width - 1)
            weight = (y - y0 if dy else 1 - (y - y0)) * (x - x0 if dx else 1 - (x - x0))
            total = total + flat[:, (row * width + column).long()] * weight
    return total * inside.to(image.dtype)


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
              sampling_ratio: int, aligned: bool) -> Tensor:
    """Means of bilinear samples in the bins of regions (He et al. 2017).

    ``input`` (N, C, H, W), ``rois`` (K, 5): image and corners; the result (K, C, pooled height and width).
    """
    channels = input.size(1)
    results = []
    for index, x1, y1, x2, y2 in rois.tolist():
        shift = 0.5 if aligned else 0.0
        left, top = x1 * spatial_scale - shift, y1 * spatial_scale - shift
        width, height = x2 * spatial_scale - shift - left, y2 * spatial_scale - shift - top
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        rows = sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(height / pooled_height)), 0)
        columns = sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(width / pooled_width)), 0)
        if rows == 0 or columns == 0:
            results.append(input.new_zeros(channels, pooled_height, pooled_width))
            continue
        y = top + (ops.arange(pooled_height * rows, dtype=input.dtype)
                   + 0.5) * (height / pooled_height / rows)
        x = left + (ops.arange(pooled_width * columns, dtype=input.dtype) + 0.5) * (
            width / pooled_width / columns)
        points_y, points_x = ops.meshgrid(y, x, indexing="ij")
        values = _bilinear(input[int(index)], points_y.reshape(-1), points_x.reshape(-1), -1.0)
        cells = values.reshape(channels, pooled_height, rows, pooled_width, columns)
        results.append(cells.mean(dim=(2, 4)))
    if not results:
        return input.new_zeros(0, channels, pooled_height, pooled_width)
    return ops.stack(results)


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
             pooled_width: int) -> tuple[Tensor, Tensor]:
    """Maxima in the bins of regions (Girshick 2015), and where in the image's plane each was found."""
    channels, height, width = input.shape[1:]
    maxima, places = [], []
    for index, *corners in rois.tolist():
        left, top, right, bottom = (int(np.floor(c * spatial_scale + 0.5)) for c in corners)
        bin_height = max(bottom - top + 1, 1) / pooled_height
        bin_width = max(right - left + 1, 1) / pooled_width
        for i in range(pooled_height):
            for j in range(pooled_width):
                y1, y2 = (min(max(v, 0), height) for v in (int(np.floor(i * bin_height)) + top,
                                                           int(np.ceil((i + 1) * bin_height)) + top))
                x1, x2 = (min(max(v, 0), width) for v in (int(np.floor(j * bin_width)) + left,
                                                          int(np.ceil((j + 1) * bin_width)) + left))
                if y2 <= y1 or x2 <= x1:
                    maxima.append(input.new_zeros(channels))
                    places.append(ops.full((channels,), -1))
                    continue
                best, at = input[int(index), :, y1:y2, x1:x2].flatten(1).max(dim=1)
                maxima.append(best)
                places.append((at // (x2 - x1) + y1) * width + at % (x2 - x1) + x1)
    shape = (len(rois), pooled_height, pooled_width, channels)
    if not maxima:
        empty = input.new_zeros(0, channels, pooled_height, pooled_width)
        return empty, empty.int()
    return tuple(ops.stack(values).reshape(shape).permute(0, 3, 1, 2).contiguous()
                 for values in (maxima, [p.int() for p in places]))


def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int,
                  stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
                  offset_groups: int, use_mask: bool) -> Tensor:
    """A convolution that samples at shifted places (Dai et al. 2017), weighted by ``mask`` (Zhu et al. 2019).

    ``offset`` (N, 2 * offset groups * kernel, H', W') holds pairs (dy, dx).
    """
    batch, channels = input.shape[:2]
    kernel_h, kernel_w = weight.shape[-2:]
    taps = kernel_h * kernel_w
    out_h, out_w = offset.shape[-2:]
    shifts = offset.reshape(batch, offset_groups, taps, 2, out_h, out_w)
    rows = ops.arange(out_h, dtype=input.dtype).reshape(-1, 1) * stride_h - pad_h
    columns = ops.arange(out_w, dtype=input.dtype) * stride_w - pad_w
    tap = ops.arange(taps)
    y = rows + (tap // kernel_w * dilation_h).to(input.dtype).reshape(-1, 1, 1)
    x = columns + (tap % kernel_w * dilation_w).to(input.dtype).reshape(-1, 1, 1)
    per_group = channels // offset_groups
    samples = []
    for n in range(batch):
        for g in range(offset_groups):
            image = input[n, g * per_group:(g + 1) * per_group]
            values = _zero_outside(image, (y + shifts[n, g, :, 0]).reshape(-1),
                                   (x + shifts[n, g, :, 1]).reshape(-1))
            values = values.reshape(per_group, taps, out_h * out_w)
            if use_mask:
                values = values * mask.reshape(batch, offset_groups, taps, out_h * out_w)[n, g]
            samples.append(values)
    columns_ = ops.stack(samples).reshape(batch, groups, channels // groups * taps, out_h * out_w)
    kernels = weight.reshape(groups, weight.size(0) // groups, -1)
    result = (kernels @ columns_).reshape(batch, weight.size(0), out_h, out_w)
    return result + bias.reshape(-1, 1, 1)


def _zero_outside(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Bilinear values with zeros around the image, as a convolution pads."""
    padded = ops.constant_pad_nd(image, [1, 1, 1, 1])
    height, width = image.shape[-2:]
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    values = _bilinear(padded, (y + 1).clamp(0, height + 1), (x + 1).clamp(0, width + 1), -1.0)
    return values * inside.to(image.dtype)
