"""A bidirectional GRU over packed sequences of different lengths, and a GRUCell run by hand."""

import torch
from _report import fingerprint, report
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.gru = nn.GRU(8, 12, bidirectional=True)
        self.cell = nn.GRUCell(24, 10)
        self.out = nn.Linear(10, 3)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embed(tokens), lengths, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.gru(packed)[0])
        hidden = torch.zeros(tokens.shape[1], 10)
        for step in out:
            hidden = self.cell(step, hidden)
        return self.out(hidden)


torch.manual_seed(3)
model = Tagger()
initial = fingerprint(model)
lengths = torch.randint(3, 10, (12,))
tokens = pad_sequence([torch.randint(1, 20, (int(n),)) for n in lengths])
target = torch.randint(0, 3, (12,))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(30):
    loss = nn.functional.nll_loss(torch.log_softmax(model(tokens, lengths), -1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, initial)
