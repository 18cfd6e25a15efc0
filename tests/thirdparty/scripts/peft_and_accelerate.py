"""PEFT's LoRA on a small GPT-2, trained by Accelerate, merged, and saved."""

# needs: peft accelerate transformers
import json
import tempfile
import warnings

import torch

warnings.simplefilter("ignore")
from accelerate import Accelerator, init_empty_weights  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0,
                    eos_token_id=0)
base = GPT2LMHeadModel(config)
lora = LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
model = get_peft_model(base, lora)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
tokens = torch.randint(0, 50, (8, 8))
trained = [p for p in model.parameters() if p.requires_grad]
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.AdamW(trained, 1e-2), torch.utils.data.DataLoader(tokens, 2, shuffle=True))
losses = []
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(input_ids=batch, labels=batch).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    accelerator.load_state(folder)
merged = accelerator.unwrap_model(model).merge_and_unload().eval()
with init_empty_weights():
    empty = torch.nn.Linear(3, 3)
print(json.dumps({"trained": sum(p.numel() for p in trained), "losses": losses,
                  "empty": str(empty.weight.device), "merged": merged(input_ids=tokens).logits.std().item()}))
