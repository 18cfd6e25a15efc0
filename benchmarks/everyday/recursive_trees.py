"""A Tree-LSTM (Tai et al., 2015), tree by tree: each of 400 sentences is a graph of its own."""
import random

import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
random.seed(0)


def tree(depth):
    if not depth or random.random() < 0.25:
        return random.randrange(100)
    return tree(depth - 1), tree(depth - 1)


data = [(tree(4), random.randrange(3)) for _ in range(400)]


class TreeLSTM(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding, self.leaf = nn.Embedding(100, width), nn.Linear(width, 3 * width)
        self.inner, self.output = nn.Linear(2 * width, 5 * width), nn.Linear(width, 3)

    def states(self, tree):
        if isinstance(tree, int):
            i, o, u = self.leaf(self.embedding(torch.tensor([tree]))).chunk(3, 1)
            c = torch.sigmoid(i) * torch.tanh(u)
        else:
            (h1, c1), (h2, c2) = map(self.states, tree)
            i, o, u, f1, f2 = self.inner(torch.cat([h1, h2], 1)).chunk(5, 1)
            c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f1) * c1 + torch.sigmoid(f2) * c2
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree):
        return self.output(self.states(tree)[0])


model = TreeLSTM()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
sentences = iter(data * 10)


def step():
    total = 0.0
    for _ in range(8):
        tree, label = next(sentences)
        loss = nn.functional.cross_entropy(model(tree), torch.tensor([label]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


run(step, 20, 5)
