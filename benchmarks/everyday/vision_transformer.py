"""A vision transformer on 16 images of 64 x 64 (Dosovitskiy et al., 2021): dropout, clipping."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)


class VisionTransformer(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 65, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 3, 4 * width, 0.1, "gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return self.head(self.norm(self.encoder(x))[:, 0])


model = VisionTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))


def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


run(step, 8, 3)
