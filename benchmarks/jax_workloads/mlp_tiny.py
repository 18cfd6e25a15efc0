"""Overhead-bound: a three-layer MLP on 32 x 16 inputs, Adam."""
from _jax import cross_entropy, integers, linear, linear_parameters, normal, relu, run, trained

params = [linear_parameters(16, 32), linear_parameters(32, 32), linear_parameters(32, 2)]


def loss(params, x, y):
    for p in params[:-1]:
        x = relu(linear(p, x))
    return cross_entropy(linear(params[-1], x), y)


run(trained(loss, params, normal(32, 16), integers(2, 32)), 300, 30)
