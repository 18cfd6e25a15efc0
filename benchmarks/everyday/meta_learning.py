"""Model-agnostic meta-learning of sines (Finn et al., 2017): gradients inside vmap inside a loss."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
parameters = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
optimizer = torch.optim.Adam(parameters.values(), lr=1e-3)


def loss_of(parameters, x, y):
    return F.mse_loss(functional_call(model, parameters, (x,)), y)


def after_one_step(x, y, x_query, y_query):
    gradients = grad(loss_of)(parameters, x, y)
    adapted = {name: parameters[name] - 0.1 * gradients[name] for name in parameters}
    return loss_of(adapted, x_query, y_query)


def step():
    x = torch.rand(25, 10, 1) * 10 - 5
    query = x + 0.1
    optimizer.zero_grad()
    loss = vmap(after_one_step)(x, torch.sin(x), query, torch.sin(query)).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 20, 5)
