"""The classic MNIST CNN, batch 64, Adam."""
from _jax import (
    adam,
    adam_state,
    convolution,
    convolution_parameters,
    cross_entropy,
    integers,
    jax,
    jnp,
    key,
    linear,
    linear_parameters,
    normal,
    partial,
    relu,
    run,
)

params = {"conv1": convolution_parameters(1, 32, 3), "conv2": convolution_parameters(32, 64, 3),
          "fc1": linear_parameters(9216, 128), "fc2": linear_parameters(128, 10)}
x, y = normal(64, 1, 28, 28), integers(10, 64)


def loss(params, x, y, noise):
    x = relu(convolution(params["conv2"], relu(convolution(params["conv1"], x))))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = jnp.where(jax.random.bernoulli(noise, 0.75, x.shape), x / 0.75, 0)
    x = relu(linear(params["fc1"], x.reshape(x.shape[0], -1)))
    return cross_entropy(linear(params["fc2"], x), y)


@partial(jax.jit, donate_argnums=(0, 1, 2))
def update(params, state, noise, x, y):
    noise, own = jax.random.split(noise)
    value, grads = jax.value_and_grad(loss)(params, x, y, own)
    return value, *adam(params, grads, state), noise


held = [params, adam_state(params), key()]


def step():
    value, *held[:] = update(*held, x, y)
    return float(value)


run(step, 15, 4)
