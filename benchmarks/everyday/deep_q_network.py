"""Deep Q-learning from a replay memory (Mnih et al., 2015): many small tensors, a soft target."""
import random

import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
random.seed(0)


def network():
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))


policy, target = network(), network()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4, amsgrad=True)
memory = [(torch.randn(1, 4), torch.tensor([[random.randrange(2)]]), torch.randn(1, 4), torch.tensor([1.0]))
          for _ in range(1000)]


def step():
    with torch.no_grad():
        policy(torch.randn(1, 4)).max(1).indices.view(1, 1).item()
    states, actions, following, rewards = (torch.cat(parts) for parts in zip(*random.sample(memory, 128)))
    values = policy(states).gather(1, actions)
    with torch.no_grad():
        best = target(following).max(1).values
    loss = F.smooth_l1_loss(values, (best * 0.99 + rewards).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy.parameters(), 100)
    optimizer.step()
    state, fresh = target.state_dict(), policy.state_dict()
    for name in fresh:
        state[name] = fresh[name] * 0.005 + state[name] * 0.995
    target.load_state_dict(state)
    return loss.item()


run(step, 60, 15)
