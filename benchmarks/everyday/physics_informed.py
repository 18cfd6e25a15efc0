"""Burgers' equation at 1000 points (Raissi et al., 2019): second derivatives by autograd inside the loss."""
import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                      nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
points = torch.rand(1000, 2, requires_grad=True)


def gradient(y):
    return torch.autograd.grad(y.sum(), points, create_graph=True)[0]


def step():
    optimizer.zero_grad()
    u = model(points)
    by_x, by_t = gradient(u).unbind(1)
    by_xx = gradient(by_x)[:, 0]
    loss = ((by_t + u.squeeze() * by_x - 0.01 * by_xx) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 40, 10)
