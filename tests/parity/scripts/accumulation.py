"""Gradients accumulated over four batches and clipped, ReduceLROnPlateau; group and weight norm."""

import torch
from _report import fingerprint, report
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Points(Dataset):
    def __init__(self):
        self.points = torch.randn(96, 6)
        self.classes = (self.points[:, 0] > 0.5).long()

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index], self.classes[index]


torch.manual_seed(11)
model = nn.Sequential(
    nn.utils.parametrizations.weight_norm(nn.Linear(6, 24)),
    nn.GroupNorm(4, 24),
    nn.Hardswish(),
    nn.Dropout(0.3),
    nn.Linear(24, 2),
)
initial = fingerprint(model)
data = Points()
weights = torch.where(data.classes == 1, 3.0, 1.0)
loader = DataLoader(data, batch_size=8, sampler=WeightedRandomSampler(weights, 240))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
losses, running = [], 0.0
for step, (x, y) in enumerate(loader):
    loss = nn.functional.multi_margin_loss(model(x), y) / 4
    loss.backward()
    running += loss.item()
    losses.append(loss.item())
    if step % 4 == 3:
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        losses.append(nn.utils.clip_grad_norm_(model.parameters(), 0.8).item())
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step(running)
        running = 0.0
report(losses, initial)
