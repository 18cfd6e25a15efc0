"""Two LSTM layers on 32 x 64 characters; each step also writes ten characters without gradients."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(65, 64)
        self.lstm = nn.LSTM(64, 256, 2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(256, 65)

    def forward(self, x, state=None):
        hidden, state = self.lstm(self.embedding(x), state)
        return self.head(hidden), state


model = Writer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
x = torch.randint(0, 65, (32, 65))


def write(count):
    model.eval()
    state, character = None, x[:1, :1]
    with torch.no_grad():
        for _ in range(count):
            logits, state = model(character, state)
            character = logits[:, -1].argmax(-1, keepdim=True)
    model.train()
    return character.item()


def step():
    optimizer.zero_grad()
    logits, _ = model(x[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 65), x[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    write(10)
    return loss.item()


run(step, 15, 5)
