"""x-transformers: an autoregressive decoder with rotary positions and gates, and an encoder with ALiBi."""

# needs: x_transformers
import json

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True, ff_dropout=0.1)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=61, max_seq_len=32, attn_layers=layers))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
words = torch.randint(1, 61, (2, 16))
losses = []
for _ in range(3):
    loss = model(words)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
model.eval()
greedy = model.generate(words[:, :4], 8, temperature=0.0).tolist()
torch.manual_seed(3)
sampled = model.generate(words[:, :4], 8).tolist()
encoder = TransformerWrapper(
    num_tokens=61,
    max_seq_len=32,
    attn_layers=Encoder(dim=32, depth=1, heads=4, attn_flash=True, alibi_pos_bias=True),
)
mask = torch.ones_like(words).bool()
mask[0, 10:] = False
print(
    json.dumps(
        {
            "losses": losses,
            "greedy": greedy,
            "sampled": sampled,
            "encoded": encoder(words, mask=mask)[0, 0, :5].tolist(),
        }
    )
)
