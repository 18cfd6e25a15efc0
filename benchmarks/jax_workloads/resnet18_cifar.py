"""ResNet-18 with a CIFAR stem, batch 32, SGD with momentum."""
from _jax import (
    convolution,
    convolution_parameters,
    cross_entropy,
    integers,
    jax,
    jnp,
    linear,
    linear_parameters,
    norm_parameters,
    normal,
    partial,
    relu,
    run,
)

x, y = normal(32, 3, 32, 32), integers(10, 32)


def pair(inp, out, size):
    """A convolution and its batch norm."""
    return {"conv": convolution_parameters(inp, out, size, bias=False), "norm": norm_parameters(out)}


STRIDES = (1, 1, 2, 1, 2, 1, 2, 1)
WIDTHS = (64, 64, 64, 128, 128, 256, 256, 512, 512)
params = {"stem": pair(3, 64, 3), "blocks": [], "head": linear_parameters(512, 10)}
for inp, out, stride in zip(WIDTHS, WIDTHS[1:], STRIDES):
    parts = {"first": pair(inp, out, 3), "second": pair(out, out, 3)}
    if stride != 1 or inp != out:
        parts["down"] = pair(inp, out, 1)
    params["blocks"].append(parts)


def normalized(p, x, stride, padding, seen):
    """Convolution and batch norm; the batch's statistics are added to ``seen``."""
    x = convolution(p["conv"], x, stride, padding)
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    count = x.size // x.shape[1]
    seen.append((mean, variance * count / (count - 1)))
    scale = jax.lax.rsqrt(variance + 1e-5) * p["norm"]["w"]
    return x * scale[:, None, None] + (p["norm"]["b"] - mean * scale)[:, None, None]


def loss(params, x, y):
    seen = []
    x = relu(normalized(params["stem"], x, 1, 1, seen))
    for p, stride in zip(params["blocks"], STRIDES):
        z = normalized(p["second"], relu(normalized(p["first"], x, stride, 1, seen)), 1, 1, seen)
        x = relu(z + (normalized(p["down"], x, stride, 0, seen) if "down" in p else x))
    return cross_entropy(linear(params["head"], x.mean((2, 3))), y), seen


@partial(jax.jit, donate_argnums=(0, 1, 2))
def update(params, momentum, running, x, y):
    (value, seen), grads = jax.value_and_grad(loss, has_aux=True)(params, x, y)
    running = jax.tree.map(lambda r, s: 0.9 * r + 0.1 * s, running, seen)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return value, jax.tree.map(lambda p, m: p - 0.05 * m, params, momentum), momentum, running


held = [params, jax.tree.map(jnp.zeros_like, params), jax.eval_shape(loss, params, x, y)[1]]
held[2] = jax.tree.map(lambda s: jnp.zeros(s.shape), held[2])


def step():
    value, *held[:] = update(*held, x, y)
    return float(value)


run(step, 5, 2)
