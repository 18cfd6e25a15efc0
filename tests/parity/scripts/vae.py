"""A variational autoencoder: reparametrised samples, the Kullback-Leibler term."""

import torch
import torch.nn.functional as F
from _report import fingerprint, report
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(30, 24)
        self.mean, self.log_variance = nn.Linear(24, 4), nn.Linear(24, 4)
        self.decode = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 30))

    def forward(self, x):
        h = F.relu(self.inner(x))
        mean, log_variance = self.mean(h), self.log_variance(h)
        sample = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decode(sample), mean, log_variance


torch.manual_seed(10)
model = VAE()
nn.init.xavier_normal_(model.inner.weight)
nn.init.uniform_(model.mean.weight, -0.2, 0.2)
initial = fingerprint(model)
data = (torch.rand(40, 30) < torch.rand(1, 30)).float()
optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
losses = []
for _ in range(30):
    logits, mean, log_variance = model(data)
    fit = F.binary_cross_entropy_with_logits(logits, data, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    loss = (fit + divergence) / len(data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
