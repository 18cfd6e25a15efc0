"""PyTorch's own transformer encoder with dropout and a padding mask."""

import torch
from _report import fingerprint, report
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.place = nn.Parameter(torch.zeros(1, 10, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens, padding):
        h = self.encoder(self.embed(tokens) + self.place, src_key_padding_mask=padding)
        h = h.masked_fill(padding[..., None], 0.0)
        return self.head(h.sum(1) / (~padding).sum(1, keepdim=True))


torch.manual_seed(4)
model = Classifier()
nn.init.trunc_normal_(model.place, std=0.02)
initial = fingerprint(model)
tokens = torch.randint(0, 30, (12, 10))
lengths = torch.randint(4, 11, (12,))
padding = torch.arange(10)[None] >= lengths[:, None]
target = torch.randint(0, 3, (12,))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
losses = []
for _ in range(30):
    loss = nn.functional.cross_entropy(model(tokens, padding), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
