"""A perceptron on noisy targets, Adam."""

import torch
from _report import fingerprint, report
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))
initial = fingerprint(model)
x = torch.rand(64, 20)
y = torch.randint(0, 5, (64,))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
