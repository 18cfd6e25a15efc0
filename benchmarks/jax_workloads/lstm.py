"""A one-layer LSTM over 50 steps, batch 32."""
from _jax import cross_entropy, integers, jax, jnp, linear, linear_parameters, normal, run, trained, uniform

WIDTH = 128
bound = WIDTH**-0.5
params = {"input": uniform(bound, 64, 4 * WIDTH), "hidden": uniform(bound, WIDTH, 4 * WIDTH),
          "bias": uniform(bound, 4 * WIDTH), "bias2": uniform(bound, 4 * WIDTH),
          "head": linear_parameters(WIDTH, 10)}


def loss(params, x, y):
    inputs = x.swapaxes(0, 1) @ params["input"] + params["bias"] + params["bias2"]

    def cell(state, part):
        h, c = state
        i, f, g, o = jnp.split(part + h @ params["hidden"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
    zeros = jnp.zeros((x.shape[0], WIDTH))
    (h, _), _ = jax.lax.scan(cell, (zeros, zeros), inputs)
    return cross_entropy(linear(params["head"], h), y)


run(trained(loss, params, normal(32, 50, 64), integers(10, 32)), 40, 8)
