"""Proximal policy optimization (Schulman et al., 2017): 32 single actions, then four updates."""
import torch
from _bench import run
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


def network(outputs):
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


actor, critic = network(4), network(1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4)


@torch.no_grad()
def play():
    states, actions, likelihoods, state = [], [], [], torch.zeros(8)
    for _ in range(32):
        policy = Categorical(logits=actor(state))
        action = policy.sample()
        states.append(state)
        actions.append(action)
        likelihoods.append(policy.log_prob(action))
        state = torch.tanh(state + torch.randn(8) * 0.1 + action.item() * 0.01)
    return torch.stack(states), torch.stack(actions), torch.stack(likelihoods), torch.randn(32)


def step():
    states, actions, likelihoods, returns = play()
    for _ in range(4):
        policy, values = Categorical(logits=actor(states)), critic(states).squeeze(-1)
        advantages = returns - values.detach()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = (policy.log_prob(actions) - likelihoods).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        loss = -gain + 0.5 * ((returns - values) ** 2).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        optimizer.step()
    return loss.item()


run(step, 20, 5)
