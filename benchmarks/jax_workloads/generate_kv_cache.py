"""Inference: token-by-token decoding with a key/value cache of fixed size that is overwritten (batch 1)."""
import math

from _jax import jax, jnp, layer_norm, linear, linear_parameters, norm_parameters, normal, partial, run

WIDTH, HEADS, DEPTH, VOCAB, CONTEXT = 256, 8, 4, 512, 128


def layer_parameters():
    return {"norm1": norm_parameters(WIDTH), "norm2": norm_parameters(WIDTH),
            "qkv": linear_parameters(WIDTH, 3 * WIDTH), "out": linear_parameters(WIDTH, WIDTH),
            "up": linear_parameters(WIDTH, 4 * WIDTH), "down": linear_parameters(4 * WIDTH, WIDTH)}


params = {"embed": normal(VOCAB, WIDTH), "layers": [layer_parameters() for _ in range(DEPTH)],
          "head": linear_parameters(WIDTH, VOCAB)}


def layer(p, x, cache, at):
    q, k, v = jnp.split(linear(p["qkv"], layer_norm(p["norm1"], x)).reshape(3 * HEADS, -1), 3)
    cache = jax.lax.dynamic_update_slice(cache, jnp.stack([k, v])[:, :, None], (0, 0, at, 0))
    scores = jnp.einsum("hd,htd->ht", q, cache[0]) / math.sqrt(WIDTH // HEADS)
    shares = jax.nn.softmax(jnp.where(jnp.arange(CONTEXT) <= at, scores, -jnp.inf))
    x = x + linear(p["out"], jnp.einsum("ht,htd->hd", shares, cache[1]).reshape(WIDTH))
    hidden = jax.nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)), approximate=False)
    return x + linear(p["down"], hidden), cache


@partial(jax.jit, donate_argnums=(2,))
def following(params, token, caches, at):
    """The next token, and the caches."""
    x, filled = params["embed"][token], []
    for p, cache in zip(params["layers"], caches):
        x, cache = layer(p, x, cache, at)
        filled.append(cache)
    return linear(params["head"], x).argmax(), filled


def step():
    caches = [jnp.zeros((2, HEADS, CONTEXT, WIDTH // HEADS)) for _ in range(DEPTH)]
    token, total = jnp.array(1), 0
    for at in range(CONTEXT):
        token, caches = following(params, token, caches, at)
        total += int(token)
    return float(total)


run(step, 5, 2)
