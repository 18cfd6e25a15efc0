"""Soft actor-critic (Haarnoja et al., 2018): 8 actions, each with an update from replay."""
import copy

import torch
from _bench import run
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

torch.manual_seed(0)
STATE, ACTION, SIZE = 11, 3, 2000


def network(inputs, outputs):
    hidden = nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


actor = network(STATE, 2 * ACTION)
critics = nn.ModuleList([network(STATE + ACTION, 1) for _ in range(2)])
targets = copy.deepcopy(critics)
temperature = torch.zeros(1, requires_grad=True)
learned = actor.parameters(), critics.parameters(), [temperature]
optimizers = [torch.optim.Adam(each, lr=3e-4) for each in learned]
states, following = torch.zeros(SIZE, STATE), torch.zeros(SIZE, STATE)
actions, rewards = torch.zeros(SIZE, ACTION), torch.zeros(SIZE, 1)
dynamics = torch.randn(STATE + ACTION, STATE) * 0.2
state, seen = torch.zeros(STATE), 0


def sample(state):
    mean, deviation = actor(state).chunk(2, -1)
    policy = Normal(mean, deviation.clamp(-20, 2).exp())
    raw = policy.rsample()
    action = torch.tanh(raw)
    return action, (policy.log_prob(raw) - torch.log(1 - action**2 + 1e-6)).sum(-1, keepdim=True)


def least(critics, state, action):
    pair = torch.cat([state, action], -1)
    return torch.min(*[critic(pair) for critic in critics])


def play():
    global state, seen
    with torch.no_grad():
        action, _ = sample(state)
    after = torch.tanh(torch.cat([state, action]) @ dynamics) + torch.randn(STATE) * 0.05
    at = seen % SIZE
    states[at], actions[at], rewards[at], following[at] = state, action, -after.square().sum().item(), after
    state, seen = after, seen + 1


def descend(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def update():
    chosen = torch.randint(0, min(seen, SIZE), (64,))
    state, action = states[chosen], actions[chosen]
    with torch.no_grad():
        after, likelihood = sample(following[chosen])
        value = least(targets, following[chosen], after) - temperature.exp() * likelihood
        goal = rewards[chosen] + 0.99 * value
    pair = torch.cat([state, action], -1)
    error = descend(optimizers[1], sum(F.mse_loss(critic(pair), goal) for critic in critics))
    action, likelihood = sample(state)
    descend(optimizers[0], (temperature.exp().detach() * likelihood - least(critics, state, action)).mean())
    descend(optimizers[2], -(temperature * (likelihood + ACTION).detach()).mean())
    for new, old in zip(critics.parameters(), targets.parameters()):
        old.data.copy_(0.005 * new.data + 0.995 * old.data)
    return error.item()


def step():
    error = 0.0
    for _ in range(8):
        play()
        error += update()
    return error


run(step, 20, 5)
