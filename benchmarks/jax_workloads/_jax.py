"""What the ports share: layers' parameters as PyTorch draws them, losses, optimizers."""
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "workloads"))
from _bench import run  # its clock starts here

# isort: split
import jax
import jax.numpy as jnp

_keys = [jax.random.key(0)]


def key():
    """A fresh key."""
    _keys[0], fresh = jax.random.split(_keys[0])
    return fresh


def normal(*shape):
    return jax.random.normal(key(), shape)


def integers(end, *shape):
    return jax.random.randint(key(), shape, 0, end)


def uniform(bound, *shape):
    return jax.random.uniform(key(), shape, minval=-bound, maxval=bound)


def linear_parameters(inp, out, bias=True):
    weight = uniform(inp**-0.5, inp, out)
    return {"w": weight, "b": uniform(inp**-0.5, out)} if bias else {"w": weight}


def linear(p, x):
    return x @ p["w"] + p["b"] if "b" in p else x @ p["w"]


def convolution_parameters(inp, out, size, bias=True):
    bound = (inp * size * size) ** -0.5
    weight = uniform(bound, out, inp, size, size)
    return {"w": weight, "b": uniform(bound, out)} if bias else {"w": weight}


def convolution(p, x, stride=1, padding=0):
    """Of images (N, C, H, W)."""
    y = jax.lax.conv_general_dilated(x, p["w"], (stride, stride), [(padding, padding)] * 2,
                                     dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y + p["b"][:, None, None] if "b" in p else y


def relu(x):
    return jnp.maximum(x, 0)


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * p["w"] + p["b"]


def norm_parameters(width):
    return {"w": jnp.ones(width), "b": jnp.zeros(width)}


def cross_entropy(logits, classes):
    logs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, classes[..., None], -1).mean()


def adam_state(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"m": zeros, "v": jax.tree.map(jnp.zeros_like, params), "t": jnp.zeros((), jnp.int32)}


def adam(params, grads, state, lr=1e-3, decay=0.0):
    """Adam; with ``decay`` AdamW."""
    t = state["t"] + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], grads)
    first, second = 1 - 0.9**t.astype(jnp.float32), 1 - 0.999**t.astype(jnp.float32)

    def moved(p, m, v):
        return p * (1 - lr * decay) - lr / first * m / (jnp.sqrt(v / second) + 1e-8)
    return jax.tree.map(moved, params, m, v), {"m": m, "v": v, "t": t}


def trained(loss_of, params, *data):
    """A step of Adam on ``loss_of(params, *data)`` that returns the loss."""
    held = [params, adam_state(params)]

    @partial(jax.jit, donate_argnums=(0, 1))
    def update(params, state, *data):
        loss, grads = jax.value_and_grad(loss_of)(params, *data)
        return loss, *adam(params, grads, state)

    def step():
        loss, *held[:] = update(*held, *data)
        return float(loss)
    return step


__all__ = ["adam", "adam_state", "convolution", "convolution_parameters", "cross_entropy", "integers", "jax",
           "jnp", "key", "layer_norm", "linear", "linear_parameters", "norm_parameters", "normal", "partial",
           "relu", "run", "trained", "uniform"]
