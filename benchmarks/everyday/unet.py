"""A small U-Net on 8 images of 64 x 64: group norms, SiLU, skip connections, two kinds of upsampling."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = block(3, 32), block(32, 64), block(64, 128)
        self.up2 = nn.ConvTranspose2d(128, 64, 2, 2)
        self.join2, self.join1 = block(128, 64), block(96, 32)
        self.out = nn.Conv2d(32, 3, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        c = self.join2(torch.cat([self.up2(c), b], 1))
        c = self.join1(torch.cat([F.interpolate(c, scale_factor=2, mode="nearest"), a], 1))
        return self.out(c)


model = UNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, target = torch.randn(8, 3, 64, 64), torch.randn(8, 3, 64, 64)


def step():
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 8, 3)
