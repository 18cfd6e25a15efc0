"""A custom autograd Function (binarization with a straight-through gradient) and a gradient penalty."""

import torch
from _report import fingerprint, report
from torch import nn


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, width):
        ctx.save_for_backward(weight)
        ctx.width = width
        return weight.sign() * weight.abs().mean()

    @staticmethod
    def backward(ctx, grad):
        (weight,) = ctx.saved_tensors
        return grad * (weight.abs() <= ctx.width), None


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Binarize.apply(self.weight, 0.3), self.bias)


torch.manual_seed(8)
model = nn.Sequential(BinaryLinear(10, 32), nn.Softplus(), nn.Linear(32, 1))
initial = fingerprint(model)
x = torch.randn(32, 10)
y = x[:, :1] * x[:, 1:2]
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(30):
    points = x.clone().requires_grad_()
    out = model(points)
    (slope,) = torch.autograd.grad(out.sum(), points, create_graph=True)
    loss = nn.functional.smooth_l1_loss(out, y) + 0.05 * (slope.norm(dim=1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
