"""Two graph convolutions on a citation graph's size (Kipf and Welling, 2017): sums along edges."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
NODES, EDGES = 2708, 10556
sources, targets = torch.randint(0, NODES, (2, EDGES))
x, y = torch.rand(NODES, 512), torch.randint(0, 7, (NODES,))


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        x = self.linear(x)
        degree = torch.zeros(NODES).index_add_(0, targets, torch.ones(EDGES)).clamp(min=1)
        weight = (degree[sources] * degree[targets]).rsqrt()
        return torch.zeros(NODES, x.shape[1]).index_add(0, targets, x[sources] * weight[:, None]) + x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Convolution(512, 16), Convolution(16, 7)

    def forward(self, x):
        hidden = F.relu(self.first(F.dropout(x, 0.5, self.training)))
        return self.second(F.dropout(hidden, 0.5, self.training))


model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 40, 10)
