"""Inverted residuals with depthwise convolutions (Sandler et al., 2018) on 32 images of 64 x 64."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)


def convolution(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU6())


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        wide = 4 * inputs
        self.layers = nn.Sequential(
            convolution(inputs, wide, 1), convolution(wide, wide, 3, stride, wide),
            nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


model = nn.Sequential(
    convolution(3, 16, 3, 2), Block(16, 24, 1), Block(24, 24, 1), Block(24, 32, 2), Block(32, 32, 1),
    Block(32, 64, 2), Block(64, 64, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
x, y = torch.randn(32, 3, 64, 64), torch.randint(0, 10, (32,))


def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 8, 3)
