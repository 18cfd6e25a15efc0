"""Skip-gram with negative sampling (Mikolov et al., 2013): sparse gradients of two tables of 20,000 words."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
WORDS = 20_000
centers, contexts = nn.Embedding(WORDS, 100, sparse=True), nn.Embedding(WORDS, 100, sparse=True)
optimizer = torch.optim.SparseAdam([*centers.parameters(), *contexts.parameters()], lr=1e-3)
words, near, others = (torch.randint(0, WORDS, shape) for shape in ((512,), (512,), (512, 5)))


def step():
    optimizer.zero_grad()
    vectors = centers(words)
    likely = (vectors * contexts(near)).sum(1).clamp(-10, 10)
    unlikely = torch.bmm(contexts(others), vectors.unsqueeze(2)).squeeze(2).clamp(-10, 10)
    loss = (-F.logsigmoid(likely) - F.logsigmoid(-unlikely).sum(1)).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 20, 5)
