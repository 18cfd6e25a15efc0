"""A variational autoencoder on 128 images of 784 pixels (Kingma and Welling, 2013), Adam."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decode = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())

    def forward(self, x):
        hidden = self.encode(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decode(z), mean, log_variance


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.rand(128, 784)


def step():
    optimizer.zero_grad()
    image, mean, log_variance = model(x)
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    loss = F.binary_cross_entropy(image, x, reduction="sum") + divergence
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 40, 10)
