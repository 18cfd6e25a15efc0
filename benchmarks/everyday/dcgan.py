"""A convolutional generative adversarial network on 64 images of 32 x 32 (Radford et al., 2015)."""
import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
LATENT, WIDTH = 64, 16


def up(inputs, outputs, stride=2, padding=1):
    return [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(True)]


def down(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2, True)]


generator = nn.Sequential(
    *up(LATENT, 4 * WIDTH, 1, 0), *up(4 * WIDTH, 2 * WIDTH), *up(2 * WIDTH, WIDTH),
    nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1, bias=False), nn.Tanh())
critic = nn.Sequential(
    nn.Conv2d(3, WIDTH, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True), *down(WIDTH, 2 * WIDTH),
    *down(2 * WIDTH, 4 * WIDTH), nn.Conv2d(4 * WIDTH, 1, 4, 1, 0, bias=False), nn.Sigmoid())
to_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
to_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCELoss()
real = torch.rand(64, 3, 32, 32) * 2 - 1


def step():
    to_critic.zero_grad()
    fake = generator(torch.randn(64, LATENT, 1, 1))
    loss = criterion(critic(real).view(-1), torch.ones(64))
    loss = loss + criterion(critic(fake.detach()).view(-1), torch.zeros(64))
    loss.backward()
    to_critic.step()
    to_generator.zero_grad()
    fooled = criterion(critic(fake).view(-1), torch.ones(64))
    fooled.backward()
    to_generator.step()
    return loss.item() + fooled.item()


run(step, 15, 5)
