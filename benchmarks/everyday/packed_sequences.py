"""A bidirectional LSTM that classifies sequences of 5 to 40 tokens, padded and packed anew in each batch."""
import random

import torch
from _bench import run
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
random.seed(0)
data = [(torch.randint(1, 300, (random.randint(5, 40),)), random.randint(0, 1)) for _ in range(320)]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(300, 48, padding_idx=0)
        self.lstm = nn.LSTM(48, 64, batch_first=True, bidirectional=True)
        self.attention, self.output = nn.Linear(128, 1), nn.Linear(128, 2)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.attention(states).squeeze(-1).masked_fill(tokens == 0, float("-inf"))
        return self.output((scores.softmax(-1).unsqueeze(-1) * states).sum(1))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def step():
    random.shuffle(data)
    total = 0.0
    for start in range(0, 128, 32):
        tokens, labels = zip(*data[start:start + 32])
        lengths = torch.tensor([len(each) for each in tokens])
        logits = model(pad_sequence(tokens, batch_first=True), lengths)
        loss = nn.functional.cross_entropy(logits, torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


run(step, 10, 4)
