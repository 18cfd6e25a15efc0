"""A denoising network in bfloat16 by autocast, 256 x 256: layer norms, GELU, AdamW."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(),
                      nn.LayerNorm(512), nn.Linear(512, 256))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(256, 256)


def step():
    optimizer.zero_grad()
    time, noise = torch.rand(256, 1), torch.randn_like(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(x * (1 - time) + noise * time).float(), noise)
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 20, 5)
