"""Transformers: masks and padding, in training and in inference."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from .program import attempt, program

INF = float("inf")
MASKS = {
    "end": [[False, False, True], [False, True, True]],
    "begin": [[True, False, False], [False, False, False]],
    "hole": [[False, True, False], [False, False, False]],
    "none": [[False] * 3] * 2,
    "added": [[0.0, 0.0, -INF], [0.0, -INF, -INF]],
}


def encoder(torch: Any, norm: Any = None, nested: bool = True, heads: int = 2, **options: Any) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, heads, 8, **{"dropout": 0.0, "batch_first": True, **options})
    return torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=nested)


def encoders(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    return {
        "plain": encoder(torch),
        "normalized": encoder(torch, nn.LayerNorm(4)),
        "not nested": encoder(torch, nested=False),
        "norm first": encoder(torch, norm_first=True),
        "gelu": encoder(torch, activation="gelu"),
        "silu": encoder(torch, activation=nn.functional.silu),
        "relu module": encoder(torch, activation=nn.ReLU()),
        "gelu module": encoder(torch, activation=nn.GELU()),
        "no bias": encoder(torch, bias=False),
        "one head": encoder(torch, heads=1),
    }


@program
def encoders_with_padding(torch: Any) -> Any:
    """In inference what is padding comes out as zeros, if the encoder and the mask allow to leave it out."""
    source = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    causal = torch.nn.Transformer.generate_square_subsequent_mask(3)
    seen: dict[str, Any] = {}
    for name, model in encoders(torch).items():
        for training in (True, False):
            model.train(training)
            for grad in (True, False):
                with torch.set_grad_enabled(grad):
                    for kind, rows in MASKS.items():
                        output = model(source, src_key_padding_mask=torch.tensor(rows))
                        seen[f"{name} {training} {grad} {kind}"] = output.tolist()
                    seen[f"{name} {training} {grad} causal"] = model(source, mask=causal).tolist()
    return seen


@program
def what_an_encoder_says_of_nested_tensors(torch: Any) -> Any:
    def warnings_of(**options: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = encoder(torch, **options)
        return model.use_nested_tensor, [str(w.message) for w in caught]

    odd = {"activation": torch.nn.functional.silu}
    return [
        warnings_of(**options)
        for options in ({}, {"batch_first": False}, {"norm_first": True}, {"bias": False}, {"heads": 1}, odd,
                        {"nested": False})
    ]  # fmt: skip


@program
def activations_that_are_modules_are_copied(torch: Any) -> Any:
    layer = encoder(torch, activation=torch.nn.GELU()).layers[1]
    return repr(layer.activation), "activation" in layer._modules, "activation" in layer.__dict__


@program
def attention_with_wrong_operands(torch: Any) -> Any:
    attend = torch.nn.MultiheadAttention(4, 2)
    q = torch.zeros(3, 2, 4)
    functional = torch.nn.functional.multi_head_attention_forward
    packed, square = torch.zeros(12, 4), torch.zeros(4, 4)

    def call(k: Any, weight: Any, bias_k: Any = None, **options: Any) -> Any:
        return functional(q, k, k, 4, 2, weight, None, bias_k, None, False, 0.0, square, None, **options)

    separate = {"use_separate_proj_weight": True, "q_proj_weight": square}
    narrow = torch.zeros(3, 2, 5)
    return [
        attempt(lambda: attend(q, q, q, key_padding_mask=torch.zeros(3, 3))),
        attempt(lambda: attend(q, q, q, key_padding_mask=torch.zeros(2, 4))),
        attempt(lambda: attend(q, q, torch.zeros(4, 2, 4))),
        attempt(lambda: attend(q, q, q, is_causal=True)),
        attempt(lambda: call(q, None)),
        attempt(lambda: call(q, packed, torch.zeros(1, 1, 4))),
        attempt(lambda: call(q, None, **separate)),
        attempt(lambda: call(narrow, None, k_proj_weight=square, v_proj_weight=square, **separate)),
    ]


@program
def masks_of_two_kinds(torch: Any) -> Any:
    attend = torch.nn.MultiheadAttention(4, 2)
    q = torch.zeros(3, 2, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attend(q, q, q, key_padding_mask=torch.zeros(2, 3).bool(), attn_mask=torch.zeros(3, 3))
    return [str(w.message) for w in caught]


@program
def causal_biases(torch: Any) -> Any:
    bias = importlib.import_module(f"{torch.__name__}.nn.attention.bias")
    attend = torch.nn.functional.scaled_dot_product_attention
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, length, 4, generator=random) for length in (3, 5, 5))
    q.requires_grad_()
    seen: list[Any] = []
    for make in (bias.causal_upper_left, bias.causal_lower_right):
        for length in (3, 5):
            mask = make(3, length)
            q.grad = None
            output = attend(q, k[:, :, :length], v[:, :, :length], attn_mask=mask, scale=0.4)
            output.sum().backward()
            seen += [output.tolist(), q.grad.tolist(), mask.variant.name, mask.seq_len_q, mask.seq_len_kv]
        seen += [repr(mask), isinstance(mask, torch.Tensor), attempt(lambda make=make: make(3))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bias.causal_lower_right(5, 3)
    return seen, [str(w.message) for w in caught], attempt(lambda: bias.CausalBias(3, 3, 5))


def blind_masks(torch: Any) -> dict[str, dict[str, Any]]:
    """Masks of two sequences of three with queries that may see no key."""
    padding = torch.tensor([[True, True, True], [False, False, True]])
    rows = torch.zeros(3, 3, dtype=torch.bool)
    rows[1] = True
    added = torch.zeros(3, 3).masked_fill(rows, -INF)
    causal = torch.ones(3, 3).triu(1).bool()
    return {
        "padding": {"key_padding_mask": padding},
        "added padding": {"key_padding_mask": torch.zeros(2, 3).masked_fill(padding, -INF)},
        "rows": {"attn_mask": rows},
        "added rows": {"attn_mask": added},
        "both": {"key_padding_mask": padding, "attn_mask": rows},
        "heads": {"attn_mask": torch.stack([rows, causal, causal, causal])},
        "causal": {"attn_mask": causal, "is_causal": True},
        "causal and padding": {"attn_mask": causal, "is_causal": True, "key_padding_mask": padding},
    }


@program
def queries_without_keys(torch: Any) -> Any:
    """Zeros in the usual path, NaN with weights and in the fast path of inference."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    layers = [
        torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True, norm_first=first)
        for first in (False, True)
    ]
    stack = torch.nn.TransformerEncoder(layers[1], 2, enable_nested_tensor=False)
    log: list[Any] = []
    for training in (True, False):
        for with_gradients in (True, False):
            with torch.set_grad_enabled(with_gradients):
                for masks in blind_masks(torch).values():
                    out = attention.train(training)(x, x, x, need_weights=False, **masks)[0]
                    log += [out.tolist(), attention(x, x, x.clone(), need_weights=False, **masks)[0].tolist()]
                    log.append(attention(x, x, x, **masks)[0].tolist())
                    if "is_causal" in masks:
                        continue
                    names = {"attn_mask": "src_mask", "key_padding_mask": "src_key_padding_mask"}
                    given = {names[name]: mask for name, mask in masks.items()}
                    log += [layer.train(training)(x, **given).tolist() for layer in layers]
                    named = {name.replace("src_mask", "mask"): mask for name, mask in given.items()}
                    log.append(stack.train(training)(x, **named).tolist())
    return log
