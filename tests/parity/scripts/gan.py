"""A generative adversarial network: two models, two optimizers, detached samples."""

import torch
from _report import fingerprint, report
from torch import nn

torch.manual_seed(6)
generator = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(
    nn.utils.parametrizations.spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.2), nn.Linear(32, 1)
)
initial = fingerprint(nn.ModuleDict({"generator": generator, "critic": critic}))
criterion = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
losses = []
for _ in range(30):
    angle = torch.rand(32) * 6.2831853
    real = torch.stack([angle.cos(), angle.sin()], dim=1)
    fake = generator(torch.randn(32, 4))
    optimizer_c.zero_grad()
    loss_c = criterion(critic(real), torch.ones(32, 1)) + criterion(critic(fake.detach()), torch.zeros(32, 1))
    loss_c.backward()
    optimizer_c.step()
    optimizer_g.zero_grad()
    loss_g = criterion(critic(fake), torch.ones(32, 1))
    loss_g.backward()
    optimizer_g.step()
    losses += [loss_c.item(), loss_g.item()]
report(losses, initial)
