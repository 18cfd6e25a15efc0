"""A two-layer LSTM with dropout between the layers predicts the next value of noisy waves."""

import torch
from _report import fingerprint, report
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out)


torch.manual_seed(2)
model = Forecaster()
initial = fingerprint(model)
phase = torch.rand(16, 1) * 6.28
time = torch.arange(17.0) * 0.4
waves = torch.sin(time + phase) + 0.05 * torch.randn(16, 17)
x, y = waves[:, :-1, None], waves[:, 1:, None]
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
losses = []
for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
