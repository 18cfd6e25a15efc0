"""transformers: a small random T5 (with generation from its cache) and ViT, three steps each."""

# needs: transformers
import json
import warnings

import torch
from transformers import T5Config, T5ForConditionalGeneration, ViTConfig, ViTForImageClassification

warnings.simplefilter("ignore")


def train(model, **batch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    losses = []
    for _ in range(3):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses


found = {}
torch.manual_seed(0)
words, answer = torch.randint(2, 61, (2, 9)), torch.randint(2, 61, (2, 5))
mask = torch.ones_like(words)
mask[1, 6:] = 0
model = T5ForConditionalGeneration(
    T5Config(
        vocab_size=61,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )
)
answer[1, 3:] = -100
found["t5"] = train(model, input_ids=words, attention_mask=mask, labels=answer)
for name, options in {
    "greedy": {"do_sample": False},
    "without a cache": {"do_sample": False, "use_cache": False},
    "beams": {"num_beams": 3, "length_penalty": 0.8},
    "sampled": {"do_sample": True, "top_k": 10, "temperature": 0.7},
}.items():
    torch.manual_seed(1)
    found[name] = model.generate(words, attention_mask=mask, max_new_tokens=7, **options).tolist()
scores = model.generate(
    words,
    attention_mask=mask,
    max_new_tokens=3,
    do_sample=False,
    output_scores=True,
    return_dict_in_generate=True,
)
found["scores"] = [step[0, :5].tolist() for step in scores.scores]

torch.manual_seed(0)
model = ViTForImageClassification(
    ViTConfig(
        image_size=16,
        patch_size=4,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=5,
    )
)
images = torch.randn(3, 3, 16, 16)
found["vit"] = train(model, pixel_values=images, labels=torch.tensor([0, 4, 2]))
with torch.no_grad():
    out = model(images, output_hidden_states=True)
    found["logits"] = out.logits.tolist()
    found["hidden"] = [float(h.abs().mean()) for h in out.hidden_states]
    larger = torch.randn(1, 3, 24, 24)
    found["interpolated"] = model(larger, interpolate_pos_encoding=True).logits.tolist()
print(json.dumps(found))
