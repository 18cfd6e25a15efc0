"""Batches of small graphs, like molecules (Gilmer et al., 2017), with other numbers of nodes each time."""
import random

import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
random.seed(0)
first, second, readout = nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 1)
parameters = [*first.parameters(), *second.parameters(), *readout.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)


def passed(messages, edges):
    return torch.zeros_like(messages).index_add(0, edges[1], messages[edges[0]])


def step():
    nodes = random.randint(50, 400)
    x, graph = torch.randn(nodes, 16), torch.randint(0, 8, (nodes,))
    edges = torch.randint(0, nodes, (2, random.randint(2 * nodes, 5 * nodes)))
    for layer in (first, second):
        x = layer(x)
        x = torch.relu(x + passed(x, edges))
    energies = readout(torch.zeros(8, 32).index_add(0, graph, x))
    loss = ((energies - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 200, 50)
