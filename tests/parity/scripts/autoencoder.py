"""A convolutional autoencoder with transposed convolutions and noisy inputs."""

import torch
from _report import fingerprint, report
from torch import nn

torch.manual_seed(5)
encoder = nn.Sequential(
    nn.Conv2d(1, 6, 3, stride=2, padding=1),
    nn.LeakyReLU(0.1),
    nn.Conv2d(6, 12, 3, stride=2, padding=1),
    nn.SiLU(),
    nn.Flatten(),
    nn.Linear(12 * 9, 8),
)
decoder = nn.Sequential(
    nn.Linear(8, 12 * 9),
    nn.Unflatten(1, (12, 3, 3)),
    nn.ConvTranspose2d(12, 6, 4, stride=2, padding=1),
    nn.ELU(),
    nn.ConvTranspose2d(6, 1, 4, stride=2, padding=1),
    nn.Sigmoid(),
)
model = nn.Sequential(encoder, decoder)
initial = fingerprint(model)
images = torch.rand(16, 1, 12, 12).pow(2)
optimizer = torch.optim.NAdam(model.parameters(), lr=5e-3)
losses = []
for _ in range(30):
    noisy = (images + 0.1 * torch.randn_like(images)).clamp(0, 1)
    loss = nn.functional.binary_cross_entropy(model(noisy), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
