"""einops: rearranging tensors, and its layers in a network."""

# needs: einops
import json

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
images = torch.randn(2, 3, 4, 4)
patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
packed, shapes = pack([torch.ones(2, 3), torch.ones(2, 4, 5)], "b *")
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3),
    Reduce("b c (h 2) (w 2) -> b c h w", "max"),
    Rearrange("b c h w -> b (c h w)"),
    torch.nn.Linear(8, 2),
    EinMix("b c -> b d", weight_shape="c d", bias_shape="d", c=2, d=5),
)
optimizer = torch.optim.Adam(model.parameters())
losses = []
for _ in range(3):
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(
    json.dumps(
        {
            "patches": [list(patches.shape), patches[0, 0].tolist()],
            "reduced": reduce(images, "b c h w -> b c", "max").tolist(),
            "repeated": list(repeat(images, "b c h w -> b c (h 2) w").shape),
            "packed": [list(packed.shape), [list(part.shape) for part in unpack(packed, shapes, "b *")]],
            "einsum": einsum(torch.ones(2, 3), torch.ones(3, 4), "a b, b c -> a c").tolist(),
            "losses": losses,
            "repr": repr(model),
        }
    )
)
