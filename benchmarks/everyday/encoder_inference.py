"""A transformer encoder on 4 x 64 tokens with a padding mask, in inference mode."""
import torch
from _bench import run
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, activation="gelu")
encoder, embedding = nn.TransformerEncoder(layer, 4).eval(), nn.Embedding(5000, 256)
ids, padding = torch.randint(0, 5000, (4, 64)), torch.zeros(4, 64, dtype=torch.bool)
padding[1, 40:] = True


def step():
    with torch.inference_mode():
        return encoder(embedding(ids), src_key_padding_mask=padding).mean().item()


run(step, 20, 5)
