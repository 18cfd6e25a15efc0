"""Overhead-bound: fifty 64-wide layers, Adam."""
from _jax import cross_entropy, integers, linear, linear_parameters, normal, relu, run, trained

params = [linear_parameters(64, 64) for _ in range(50)]


def loss(params, x, y):
    for p in params[:-1]:
        x = relu(linear(p, x))
    return cross_entropy(linear(params[-1], x), y)


run(trained(loss, params, normal(32, 64), integers(64, 32)), 60, 10)
