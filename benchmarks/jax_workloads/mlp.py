"""Compute-bound MLP: 784-512-512-10, batch 128, Adam."""
from _jax import cross_entropy, integers, linear, linear_parameters, normal, relu, run, trained

params = [linear_parameters(784, 512), linear_parameters(512, 512), linear_parameters(512, 10)]


def loss(params, x, y):
    for p in params[:-1]:
        x = relu(linear(p, x))
    return cross_entropy(linear(params[-1], x), y)


run(trained(loss, params, normal(128, 784), integers(10, 128)), 60, 10)
