"""transformers: small random GPT-2, BERT and Llama: three steps, generation, and a saved model."""

# needs: transformers
import json
import tempfile
import warnings

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    get_cosine_schedule_with_warmup,
)

warnings.simplefilter("ignore")
TOKENS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}


def train(model, schedule=False, **batch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 1, 3) if schedule else None
    losses = []
    for _ in range(3):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


found = {}
torch.manual_seed(0)
words = torch.randint(1, 61, (2, 12))
model = GPT2LMHeadModel(GPT2Config(vocab_size=61, n_positions=32, n_embd=16, n_layer=2, n_head=2, **TOKENS))
found["gpt2"] = train(model, input_ids=words, labels=words)
model.eval()
found["greedy"] = model.generate(words[:, :4], max_new_tokens=6, do_sample=False).tolist()
torch.manual_seed(1)
found["sampled"] = model.generate(
    words[:, :4], max_new_tokens=6, do_sample=True, top_k=10, top_p=0.9
).tolist()
found["beams"] = model.generate(words[:1, :4], max_new_tokens=6, num_beams=3).tolist()

mask = torch.ones_like(words)
mask[0, 8:] = 0
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=61,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        num_labels=3,
    )
)
found["bert"] = train(model, input_ids=words, attention_mask=mask, labels=torch.tensor([0, 2]))

model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=61,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        **TOKENS,
    )
)
found["llama"] = train(model, schedule=True, input_ids=words, labels=words)
model.eval()
found["llama greedy"] = model.generate(words[:, :4], max_new_tokens=6, do_sample=False).tolist()
folder = tempfile.mkdtemp()
model.save_pretrained(folder)
again = LlamaForCausalLM.from_pretrained(folder)
found["saved"] = all(
    torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True)
)
for kind in ("eager", "sdpa"):
    model.set_attn_implementation(kind)
    found[kind] = model(words).logits[0, -1, :5].tolist()
model.gradient_checkpointing_enable()
model.train()
model.set_attn_implementation("sdpa")
model(input_ids=words, labels=words).loss.backward()
found["checkpointed"] = model.model.layers[0].self_attn.q_proj.weight.grad.abs().sum().item()
print(json.dumps(found))
