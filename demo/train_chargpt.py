"""A character GPT, trained on Python's own help texts (pydoc_data.topics), that writes some of its own.

A plain PyTorch program. With flambeau: flambeau run demo/train_chargpt.py
"""

import argparse
import math
import pathlib
import time
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """One transformer layer on (N, T, C): causal self-attention and a feed-forward net, pre-normalized."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.project(attended.transpose(1, 2).reshape(n, t, c)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class CharGPT(nn.Module):
    """Characters (N, T) to the logits of the next ones (N, T, vocabulary)."""

    def __init__(self, vocabulary, context, width, heads, layers, dropout):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialize)
        self.head.weight = self.token.weight    # one matrix for reading and writing characters

    @staticmethod
    def initialize(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, characters):
        x = self.token(characters) + self.position(torch.arange(characters.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def write(self, start, length, temperature=0.8, top=20):
        """Continue the characters (1, T) by ``length`` sampled ones."""
        self.eval()
        for _ in range(length):
            logits = self(start[:, -self.context:])[:, -1] / temperature
            least = logits.topk(top).values[:, -1:]
            probabilities = F.softmax(logits.masked_fill(logits < least, -math.inf), dim=-1)
            start = torch.cat([start, torch.multinomial(probabilities, 1)], dim=1)
        return start


def load_text():
    """The help texts, as indices, and the characters that occur at least ten times."""
    text = "\n\n".join(topics[name] for name in sorted(topics))
    alphabet = sorted(c for c in set(text) if text.count(c) >= 10)
    number = {c: i for i, c in enumerate(alphabet)}
    return torch.tensor([number[c] for c in text if c in number]), alphabet


def batch(data, size, context):
    starts = torch.randint(len(data) - context - 1, (size, 1))
    at = starts + torch.arange(context)
    return data[at], data[at + 1]


def learning_rate(step, steps, warmup=20):
    """Rises linearly, then falls along a cosine to a tenth; as a factor."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


@torch.no_grad()
def evaluate(model, data, options, batches=8):
    model.eval()
    losses = []
    for _ in range(batches):
        x, y = batch(data, options.batch_size, options.context)
        losses.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=400, help="characters to write at the end")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo/output"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(options.seed)
    data, alphabet = load_text()
    train, test = data[: int(0.9 * len(data))], data[int(0.9 * len(data)):]
    model = CharGPT(len(alphabet), options.context, options.width, options.heads, options.layers,
                    options.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, betas=(0.9, 0.98), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, options.steps))
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(data)} characters, {len(alphabet)} different ones, {parameters} parameters")

    started = time.perf_counter()
    for step in range(1, options.steps + 1):
        model.train()
        x, y = batch(train, options.batch_size, options.context)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 50 == 0 or step == 1:
            seconds = time.perf_counter() - started
            print(f"step {step:4d}  loss {loss.item():.4f}  {seconds:6.1f} s", flush=True)
    held_out = evaluate(model, test, options)
    print(f"trained in {time.perf_counter() - started:.1f} s; held-out loss {held_out:.4f} "
          f"({held_out / math.log(2):.2f} bits a character; {math.log2(len(alphabet)):.2f} before training)")

    start = torch.tensor([[alphabet.index(c) for c in "The "]])
    sample = "".join(alphabet[i] for i in model.write(start, options.sample)[0].tolist())
    print("-" * 80 + "\n" + sample + "\n" + "-" * 80)
    (options.out / "chargpt.txt").write_text(sample + "\n")
    torch.save({"model": model.state_dict(), "alphabet": alphabet}, options.out / "chargpt.pt")


if __name__ == "__main__":
    main()
