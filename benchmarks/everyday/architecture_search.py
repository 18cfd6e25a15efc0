"""A random search for an architecture: each step trains another network for ten steps."""
import random

import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
random.seed(0)
x, y = torch.randn(64, 20), torch.randint(0, 3, (64,))
activations = [nn.ReLU, nn.Tanh, nn.GELU, nn.Sigmoid, nn.SiLU]


def network():
    width, layers = 20, []
    for _ in range(random.randint(1, 5)):
        following = random.choice([8, 16, 24, 32, 48, 64])
        layers += [nn.Linear(width, following), random.choice(activations)()]
        if random.random() < 0.3:
            layers.append(nn.LayerNorm(following))
        if random.random() < 0.3:
            layers.append(nn.Dropout(0.1))
        width = following
    return nn.Sequential(*layers, nn.Linear(width, 3))


def step():
    model = network()
    kind = random.choice([torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop])
    optimizer = kind(model.parameters(), lr=1e-2)
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


run(step, 100, 20)
