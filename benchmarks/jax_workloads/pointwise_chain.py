"""Memory-bound: a chain of elementwise operators over 8M floats and a sum."""
from _jax import jax, jnp, normal, run

x = normal(4096, 2048)


@jax.jit
def total(x):
    return (jnp.tanh(x * 2 + 1) * jax.nn.sigmoid(x) + x**2).sum()


run(lambda: float(total(x)), 15, 4)
