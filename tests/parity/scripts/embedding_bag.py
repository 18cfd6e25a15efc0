"""A bag-of-words model: EmbeddingBag with offsets and weights, Adagrad."""

import torch
from _report import fingerprint, report
from torch import nn


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.EmbeddingBag(50, 12, mode="mean")
        self.total = nn.EmbeddingBag(50, 12, mode="sum")
        self.out = nn.Linear(24, 4)

    def forward(self, words, offsets, weights):
        bags = self.mean(words, offsets), self.total(words, offsets, per_sample_weights=weights)
        return self.out(torch.cat(bags, dim=1))


torch.manual_seed(7)
model = BagOfWords()
initial = fingerprint(model)
counts = torch.randint(1, 9, (20,))
words = torch.randint(0, 50, (int(counts.sum()),))
weights = torch.rand(len(words))
offsets = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)[:-1]])
target = torch.randint(0, 4, (20,))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
losses = []
for _ in range(30):
    loss = nn.functional.cross_entropy(model(words, offsets, weights), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
