"""Beam search through a recurrent language model, a word at a time: four beams, 20 words."""
import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
WORDS, BEAMS, ENDS = 100, 4, 3
words, cell, scores_of = nn.Embedding(WORDS, 32), nn.GRUCell(32, 64), nn.Linear(64, WORDS)


@torch.no_grad()
def step():
    state, last = torch.randn(1, 64).repeat(BEAMS, 1), torch.zeros(BEAMS, dtype=torch.long)
    scores = torch.tensor([0.0] + [-1e9] * (BEAMS - 1))
    beams, finished = last[:, None], []
    for _ in range(20):
        state = cell(words(last), state)
        likely = scores_of(state).log_softmax(-1) + scores[:, None]
        scores, places = likely.view(-1).topk(BEAMS)
        source, last = torch.div(places, WORDS, rounding_mode="floor"), places % WORDS
        beams, state = torch.cat([beams[source], last[:, None]], 1), state[source]
        for k in range(BEAMS):
            if last[k].item() < ENDS:
                finished.append((scores[k].item(), beams[k].tolist()))
                scores[k] = -1e9
    return max([scores.max().item(), *[score for score, _ in finished]])


run(step, 200, 50)
