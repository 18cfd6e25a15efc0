"""Values and gradients where formulas have corners: at infinities, at NaN, at borders of what is sampled."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.oracle

# x has the numbers of _NUMBERS, i is (1, 2, 3, 3), g (1, 2, 2, 2) has points on the border, q (1, 1, 3, 2).
_NUMBERS = [float("inf"), -float("inf"), float("nan"), 0.5, -0.5, 3.0, -3.0, 0.0]
_MASK = "torch.tensor([[True, False, True], [True, True, True], [False, True, False]])"
EXPRESSIONS = [
    "torch.special.erfcx(x)", "torch.special.log_ndtr(x)[[0, 3, 4, 5, 6, 7]]",
    "torch.polygamma(2, x)[[0, 2, 3, 5, 7]]",
    "torch.special.zeta(torch.tensor(2.5, dtype=x.dtype), x)[[2, 3, 5]]", "F.hardtanh(x)", "F.relu6(x)",
    "F.hardshrink(x)", "F.softshrink(x)", "x.unique()", "x.bfloat16().unique()",
    "F.interpolate(i.detach(), scale_factor=(1.3, 2.0), mode='bicubic', antialias=True) + 0 * i.sum()",
    "F.interpolate(i.detach(), scale_factor=(0.7, 1.2), mode='bilinear', antialias=True) + 0 * i.sum()",
    "F.grid_sample(i, g, padding_mode='border', align_corners=True)",
    "F.grid_sample(i, g, padding_mode='reflection', align_corners=True)",
    "F.grid_sample(i[:, :, :, :1], g, padding_mode='border', align_corners=False)",
    "F.conv_transpose2d(i, q.repeat(2, 1, 1, 1), stride=(1, 3), output_padding=(1, 2), dilation=2)",
    "F.conv_transpose1d(i[0], q[0].repeat(2, 1, 1), output_padding=1, dilation=2)",
    f"F.scaled_dot_product_attention(i, i, i, attn_mask={_MASK}, is_causal=True)",
    "F.scaled_dot_product_attention(i, i, i, attn_mask=i[0, :1].detach()[None], is_causal=True)",
    "F.scaled_dot_product_attention(i[0], i[0], i[0], attn_mask=i[0, 0].detach(), is_causal=True)",
    "F.scaled_dot_product_attention(i, i, i, attn_mask=i[0, 0], is_causal=True)",
    "q[0, 0, 0].scatter(0, torch.tensor([0, 1]), 2.0, reduce='add')",
    "F.nll_loss(i[0], torch.tensor([[0, 1, 0], [1, 0, 1], [0, 0, 1]])[:2, :3].T[:2], weight=q[0, 0, 0])",
    "F.cross_entropy(q[0, 0], torch.tensor([0, 1, 0]), weight=q[0, 0, 0])",
    "F.cross_entropy(q[0, 0], torch.tensor([0, 1, 0]), weight=q[0, 0, 0].detach())",
    "F.binary_cross_entropy(q.sigmoid(), q.detach().sigmoid(), weight=q)",
    "F.binary_cross_entropy_with_logits(q, q.detach().sigmoid(), weight=q)",
    "F.binary_cross_entropy_with_logits(q, q.detach().sigmoid(), pos_weight=q)",
    "F.multi_margin_loss(q[0, 0], torch.tensor([0, 1, 0]), weight=q[0, 0, 0])", "F.soft_margin_loss(q, q)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_edges(torch: ModuleType, oracle: ModuleType, expression: str) -> None:
    def run(framework: ModuleType) -> Any:
        def numbers(*shape: int) -> Any:
            values = framework.arange(framework.Size(shape).numel(), dtype=framework.float64)
            return ((values * 0.37) % 2 - 0.9).reshape(shape).requires_grad_()

        x = framework.tensor(_NUMBERS, dtype=framework.float64, requires_grad=True)
        g = framework.tensor([-1.0, 1.0, 0.0, 0.4, 1.0, -3.0, 1.5, -1.0], dtype=framework.float64)
        leaves = [x, numbers(1, 2, 3, 3), g.reshape(1, 2, 2, 2).requires_grad_(), numbers(1, 1, 3, 2)]
        names = {"torch": framework, "F": framework.nn.functional, **dict(zip("xigq", leaves))}
        try:
            y = eval(expression, names)
            found = [y]
            if "unique" not in expression:
                first = framework.autograd.grad(y.sum(), leaves, create_graph=True, allow_unused=True)
                found += first
                second = [one.square().sum() for one in first if one is not None and one.requires_grad]
                if "attention" not in expression and "hard" not in expression and second:
                    found += framework.autograd.grad(second, leaves, allow_unused=True)
        except RuntimeError as error:
            return str(error)
        return [None if one is None else one.flatten().tolist() for one in found]

    ours, theirs = run(torch), run(oracle)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for mine, other in zip(ours, theirs, strict=True):
        if other is not None or mine is None or any(mine):
            assert mine == (None if other is None else pytest.approx(other, rel=1e-6, abs=1e-8, nan_ok=True))
