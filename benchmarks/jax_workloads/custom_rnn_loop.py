"""A recurrent cell over 60 time steps; RMSprop."""
from _jax import cross_entropy, integers, jax, jnp, linear, linear_parameters, normal, partial, run

INPUT, WIDTH = 16, 48
params = {"gates": linear_parameters(INPUT + WIDTH, 2 * WIDTH),
          "new": linear_parameters(INPUT + WIDTH, WIDTH), "head": linear_parameters(WIDTH, 4)}
x, y = normal(60, 16, INPUT), integers(4, 16)


def loss(params, xs, y):
    def cell(h, x):
        z, r = jnp.split(jax.nn.sigmoid(linear(params["gates"], jnp.concatenate([x, h], 1))), 2, 1)
        n = jnp.tanh(linear(params["new"], jnp.concatenate([x, r * h], 1)))
        return (1 - z) * n + z * h, None
    h, _ = jax.lax.scan(cell, jnp.zeros((xs.shape[1], WIDTH)), xs)
    return cross_entropy(linear(params["head"], h), y)


@partial(jax.jit, donate_argnums=(0, 1))
def update(params, squares, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    squares = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, squares, grads)
    params = jax.tree.map(lambda p, s, g: p - 1e-3 * g / (jnp.sqrt(s) + 1e-8), params, squares, grads)
    return value, params, squares


held = [params, jax.tree.map(jnp.zeros_like, params)]


def step():
    value, *held[:] = update(*held, x, y)
    return float(value)


run(step, 25, 5)
