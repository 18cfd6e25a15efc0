"""torchvision's operators: against other ways to compute the same."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.library import torchvision_operators as tv


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_the_library_is_known_by_its_path() -> None:
    torch.ops.load_library("/somewhere/torchvision/_C.so")
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
    assert torch.ops.torchvision.nms(boxes, torch.tensor([0.8, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    with pytest.raises(OSError, match=r"Could not load this library: other\.so"):
        torch.ops.load_library("other.so")


def test_roi_align_of_cells_that_are_pixels_gives_the_pixels() -> None:
    x = torch.randn(2, 3, 6, 6, requires_grad=True)
    rois = torch.tensor([[1.0, 1, 2, 5, 5]])
    out = tv.roi_align(x, rois, 1.0, 3, 4, 1, True)
    torch.testing.assert_close(out, x[1:, :, 2:5, 1:5])
    out.sum().backward()
    assert x.grad.sum().item() == 36


def test_roi_align_means_samples() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    out = tv.roi_align(x, torch.tensor([[0.0, 0, 0, 4, 4]]), 1.0, 2, 2, 2, True)
    torch.testing.assert_close(out, torch.nn.functional.avg_pool2d(x, 2))


def test_roi_pool_takes_maxima() -> None:
    x = torch.randn(1, 2, 4, 4)
    out, places = tv.roi_pool(x, torch.tensor([[0.0, 0, 0, 3, 3]]), 1.0, 2, 2)
    pooled, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    torch.testing.assert_close(out, pooled)
    assert torch.equal(places.long(), indices)


@pytest.mark.parametrize(("groups", "offset_groups"), [(1, 1), (2, 1), (1, 2)])
def test_deform_conv2d_without_offsets_is_a_convolution(groups: int, offset_groups: int) -> None:
    x, w, b = torch.randn(2, 4, 7, 6), torch.randn(6, 4 // groups, 3, 3), torch.randn(6)
    expected = torch.nn.functional.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), groups)
    offset = torch.zeros(2, 2 * offset_groups * 9, *expected.shape[-2:])
    mask = torch.ones(2, offset_groups * 9, *expected.shape[-2:])
    out = tv.deform_conv2d(x, w, offset, mask, b, 2, 1, 1, 2, 1, 2, groups, offset_groups, True)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


def test_deform_conv2d_differentiates_by_offset_and_mask() -> None:
    d = torch.float64
    x, w = torch.randn(1, 2, 4, 4, dtype=d), torch.randn(1, 2, 2, 2, dtype=d, requires_grad=True)
    offset = (torch.rand(1, 8, 3, 3, dtype=d) * 0.6 + 0.2).requires_grad_()
    mask = torch.rand(1, 4, 3, 3, dtype=d, requires_grad=True)

    def function(offset: torch.Tensor, mask: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return tv.deform_conv2d(x, w, offset, mask, torch.zeros(1, dtype=d), 1, 1, 0, 0, 1, 1, 1, 1, True)
    assert torch.autograd.gradcheck(function, (offset, mask, w))
