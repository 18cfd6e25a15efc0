"""Selective checkpointing: what the policy sees, what is computed again, and the gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import flambeau as torch
from flambeau.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten


def run(policy: Any) -> tuple[Any, ...]:
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 4)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)

    def function(x: Any) -> Any:
        h = torch.relu(layer(x) @ w)
        h = torch.nn.functional.layer_norm(h, (4,)).softmax(-1)
        return (h @ w).sin() + h.mT.contiguous()
    if policy is None:
        out = function(x)
    else:
        contexts = partial(create_selective_checkpoint_contexts, policy)
        out = checkpoint(function, x, use_reentrant=False, context_fn=contexts)
    out.sum().backward()
    return x.grad, w.grad, layer.weight.grad


@pytest.mark.parametrize("kept", [[], [aten.mm.default], [aten.addmm.default, aten._softmax.default]])
def test_gradients_are_those_without_checkpointing(kept: list[Any]) -> None:
    for ours, plain in zip(run(kept), run(None)):
        torch.testing.assert_close(ours, plain)


def test_the_policy_sees_the_dispatchers_names() -> None:
    seen = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        seen.append((ctx.is_recompute, str(op)))
        return CheckpointPolicy.PREFER_RECOMPUTE
    run(policy)
    names = ["addmm.default", "mm.default", "relu.default", "native_layer_norm.default", "_softmax.default",
             "mm.default", "sin.default", "clone.default", "add.Tensor"]
    assert seen == [(False, f"aten.{name}") for name in names]


def test_what_is_no_policy() -> None:
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: mm"):
        create_selective_checkpoint_contexts(["mm"])
    with pytest.raises(TypeError, match=r"policy_fn_or_list must be either a function or a list of ops\."):
        create_selective_checkpoint_contexts(3)
