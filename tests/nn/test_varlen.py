"""Attention over packed sequences: as attention over each of them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

STARTS, KEY_STARTS = (0, 2, 6), (0, 3, 8)


@pytest.fixture
def varlen(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.attention.varlen")


def reference(torch: Any, q: Any, k: Any, v: Any, window: tuple[int, int]) -> Any:
    """The output and the sums of exponentials, with all scores at once."""
    outputs, sums = [], []
    for i in range(2):
        rows, keys = slice(*STARTS[i : i + 2]), slice(*KEY_STARTS[i : i + 2])
        a, b, c = q[rows].transpose(0, 1), *[x[keys].transpose(0, 1).repeat_interleave(2, 0) for x in (k, v)]
        scores = a @ b.transpose(-1, -2) / q.shape[-1] ** 0.5
        length, count = scores.shape[-2:]
        distance = torch.arange(count) - torch.arange(length).unsqueeze(1) - (count - length)
        hidden = torch.zeros(length, count, dtype=torch.bool)
        if window[0] >= 0:
            hidden |= distance < -window[0]
        if window[1] >= 0:
            hidden |= distance > window[1]
        scores = scores.masked_fill(hidden, -float("inf"))
        outputs.append((scores.softmax(-1) @ c).transpose(0, 1))
        sums.append(scores.logsumexp(-1))
    return torch.cat(outputs), torch.cat(sums, 1)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0), (1, 1), (-1, 1)])
def test_each_sequence_attends_to_itself(torch: Any, varlen: Any, window: tuple[int, int]) -> None:
    torch.manual_seed(0)
    q = torch.randn(6, 4, 8, requires_grad=True)
    k, v = torch.randn(8, 2, 8), torch.randn(8, 2, 8)
    starts = [torch.tensor(each, dtype=torch.int32) for each in (STARTS, KEY_STARTS)]
    out, sums = varlen.varlen_attn(
        q, k, v, *starts, 4, 5, window_size=window, enable_gqa=True, return_aux=varlen.AuxRequest(lse=True)
    )
    expected, expected_sums = reference(torch, q, k, v, window)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(sums, expected_sums)
    ours, theirs = (torch.autograd.grad(each.sin().sum(), q)[0] for each in (out, expected))
    torch.testing.assert_close(ours, theirs)


def test_keys_in_pages(torch: Any, varlen: Any) -> None:
    torch.manual_seed(0)
    q, pages = torch.randn(6, 4, 8), torch.randn(5, 4, 2, 8)
    starts, table = torch.tensor(STARTS), torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    options = {"enable_gqa": True, "window_size": (-1, 0)}
    paged = varlen.varlen_attn(
        q, pages, pages, starts, None, 4, 8, seqused_k=torch.tensor([3, 7]), block_table=table, **options
    )
    flat = torch.cat([pages[3, :3], pages[0], pages[4, :3]])
    plain = varlen.varlen_attn(q, flat, flat, starts, torch.tensor([0, 3, 10]), 4, 8, **options)
    torch.testing.assert_close(paged, plain)


def test_heads_must_match(torch: Any, varlen: Any) -> None:
    q, starts = torch.randn(6, 3, 8), torch.tensor(STARTS)
    with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
        varlen.varlen_attn(q, q[:, :2], q[:, :2], starts, starts, 4, 4)
    with pytest.raises(ValueError, match="to be a multiple of kv heads for GQA but got Hq=3 and Hkv=2"):
        varlen.varlen_attn(q, q[:, :2], q[:, :2], starts, starts, 4, 4, enable_gqa=True)
    with pytest.raises(ValueError, match="window_size must have length 2, got 1"):
        varlen.varlen_attn(q, q, q, starts, starts, 4, 4, window_size=(1,))
