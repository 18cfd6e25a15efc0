"""A 4-layer, 256-wide GPT on 8 x 256 tokens, AdamW with a changing learning rate and gradient clipping."""
import math

from _jax import (
    adam,
    adam_state,
    cross_entropy,
    integers,
    jax,
    jnp,
    layer_norm,
    linear,
    linear_parameters,
    norm_parameters,
    normal,
    partial,
    run,
)

VOCAB, WIDTH, HEADS, DEPTH, CONTEXT = 512, 256, 8, 4, 256


def block_parameters():
    return {"norm1": norm_parameters(WIDTH), "norm2": norm_parameters(WIDTH),
            "qkv": linear_parameters(WIDTH, 3 * WIDTH), "out": linear_parameters(WIDTH, WIDTH),
            "up": linear_parameters(WIDTH, 4 * WIDTH), "down": linear_parameters(4 * WIDTH, WIDTH)}


params = {"token": normal(VOCAB, WIDTH), "position": normal(CONTEXT, WIDTH),
          "blocks": [block_parameters() for _ in range(DEPTH)],
          "norm": norm_parameters(WIDTH), "head": linear_parameters(WIDTH, VOCAB, bias=False)}
x, y = integers(VOCAB, 8, CONTEXT), integers(VOCAB, 8, CONTEXT)


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ v


def block(p, x):
    batch, time, _ = x.shape
    parts = jnp.split(linear(p["qkv"], layer_norm(p["norm1"], x)), 3, -1)
    q, k, v = (t.reshape(batch, time, HEADS, -1).swapaxes(1, 2) for t in parts)
    x = x + linear(p["out"], attention(q, k, v).swapaxes(1, 2).reshape(batch, time, WIDTH))
    hidden = jax.nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)), approximate=False)
    return x + linear(p["down"], hidden)


def loss(params, ids, targets):
    x = params["token"][ids] + params["position"][: ids.shape[1]]
    for p in params["blocks"]:
        x = block(p, x)
    return cross_entropy(linear(params["head"], layer_norm(params["norm"], x)), targets)


@partial(jax.jit, donate_argnums=(0, 1))
def update(params, state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
    factor = jnp.minimum(1.0 / (norm + 1e-6), 1.0)
    grads = jax.tree.map(lambda g: g * factor, grads)
    lr = 3e-4 * (1 + jnp.cos(jnp.pi * state["t"] / 1000)) / 2
    return value, *adam(params, grads, state, lr, decay=0.01)


held = [params, adam_state(params)]


def step():
    value, *held[:] = update(*held, x, y)
    return float(value)


run(step, 8, 3)
