"""safetensors: files are the same bytes, and come back."""

# needs: safetensors
import hashlib
import json
import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
tensors = {
    "a": torch.randn(3, 4),
    "b": torch.arange(5),
    "half": torch.randn(2, 2).half(),
    "bf": torch.randn(2).bfloat16(),
    "bool": torch.tensor([True, False]),
    "empty": torch.empty(0, 3),
    "scalar": torch.tensor(2.5),
    "float8": torch.randn(4).to(torch.float8_e4m3fn),
    "bytes": torch.arange(4, dtype=torch.uint8),
    "double": torch.randn(2).double(),
}
folder = tempfile.mkdtemp()
path = os.path.join(folder, "tensors.safetensors")
save_file(tensors, path, metadata={"k": "v"})
loaded = load_file(path)
with open(path, "rb") as file:
    digest = hashlib.md5(file.read()).hexdigest()
with safe_open(path, framework="pt", device="cpu") as file:
    parts = [file.metadata(), sorted(file.keys()), file.get_slice("a")[1:, :2].tolist()]
model, other = (torch.nn.TransformerEncoderLayer(8, 2, 16) for _ in range(2))
save_model(model, path)
missing, unexpected = load_model(other, path)
same = all(
    torch.equal(x, y) for x, y in zip(model.state_dict().values(), other.state_dict().values(), strict=True)
)
errors = []
shared = torch.randn(3)
for bad in ({"a": shared, "b": shared}, {"a": torch.randn(3, 4).t()}):
    try:
        save_file(bad, path)
    except (RuntimeError, ValueError) as error:
        errors.append([type(error).__name__, str(error).strip()[:60]])
print(
    json.dumps(
        {
            "digest": digest,
            "in memory": [hashlib.md5(save(tensors)).hexdigest(), sorted(load(save(tensors)))],
            "values": {
                name: [str(t.dtype), list(t.shape), t.double().tolist()] for name, t in sorted(loaded.items())
            },
            "parts": parts,
            "model": [sorted(missing), sorted(unexpected), same],
            "errors": errors,
        }
    )
)
