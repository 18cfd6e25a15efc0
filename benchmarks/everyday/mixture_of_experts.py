"""A mixture of experts (Shazeer et al., 2017): each of eight gets other tokens, and how many changes, too."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
EXPERTS, CHOSEN = 8, 2


def network(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class Experts(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, EXPERTS)
        self.experts = nn.ModuleList(network(width, hidden) for _ in range(EXPERTS))

    def forward(self, x):
        shares = F.softmax(self.gate(x), -1)
        weights, chosen = torch.topk(shares, CHOSEN)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            token, place = torch.where(chosen == k)
            if len(token):
                out.index_add_(0, token, expert(x[token]) * weights[token, place, None])
        busy = F.one_hot(chosen, EXPERTS).float().mean((0, 1))
        return out, (busy * shares.mean(0)).sum() * EXPERTS


embed, first, second, head = nn.Linear(32, 64), Experts(64, 128), Experts(64, 128), nn.Linear(64, 10)
layers = nn.ModuleList([embed, first, second, head])
optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-3)


def step():
    x = embed(torch.randn(256, 32))
    y, imbalance = first(x)
    z, more = second(F.layer_norm(x + y, (64,)))
    loss = F.cross_entropy(head(x + z), torch.randint(0, 10, (256,))) + imbalance + more
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 200, 50)
