"""Names of ``nn.functional`` that copies of attention and of its neighbours import."""

from __future__ import annotations

import pytest

import flambeau as torch


def test_projections_of_attention() -> None:
    """As copies of ``multi_head_attention_forward`` call them."""
    functional, x, w, b = torch.nn.functional, torch.randn(3, 2, 4), torch.randn(12, 4), torch.randn(12)
    expected = functional.linear(x, w, b).split(4, -1)
    packed = functional._in_projection_packed(x, x, x, w, b)
    own = functional._in_projection(x, x, x, *w.chunk(3), *b.chunk(3))
    for q, p, e in zip(packed, own, expected):
        assert q.is_contiguous() and torch.allclose(q, e) and torch.allclose(p, e)
    assert functional._mha_shape_check(x, x, x, None, None, 2) is True
    with pytest.raises(AssertionError, match=r"expecting query weights shape of \(4, 4\), but got"):
        functional._in_projection(x, x, x, w[:3], w[4:8], w[8:])
    with pytest.raises(AssertionError, match=r"expecting value bias shape of \(4,\), but got"):
        functional._in_projection(x, x, x, *w.chunk(3), b_v=b[:3])


def test_names_that_functional_modules_share() -> None:
    import flambeau.functional
    from flambeau.fx.node import Argument
    from flambeau.fx.proxy import Argument as from_proxy
    from flambeau.nn import _reduction, grad

    functional = torch.nn.functional
    assert flambeau.functional.F is functional and Argument is from_proxy
    assert functional._Reduction is _reduction and functional.grad is grad
    assert functional.handle_torch_function is torch.overrides.handle_torch_function
    with pytest.warns(UserWarning, match="Implicit dimension choice for name"):
        assert functional._get_softmax_dim("name", 3, 3) == 0
    functional._verify_batch_size([1, 3, 2])
    with pytest.raises(ValueError, match=r"more than 1 value per channel .* got input size \[1, 3, 1\]"):
        functional._verify_batch_size([1, 3, 1])
