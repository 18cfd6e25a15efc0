"""torchdiffeq's solvers and adjoint, torchsde, zuko's flows, entmax, and optimizers from several packages."""

# needs: torchdiffeq torchsde zuko entmax lion_pytorch schedulefree pytorch_metric_learning
import json
import warnings

import torch

warnings.simplefilter("ignore")
import entmax  # noqa: E402
import torchdiffeq  # noqa: E402
import torchsde  # noqa: E402
import zuko  # noqa: E402
from lion_pytorch import Lion  # noqa: E402
from pytorch_metric_learning import losses, miners  # noqa: E402
from schedulefree import AdamWScheduleFree  # noqa: E402


def trained(parameters, loss, optimizer=torch.optim.Adam):
    chosen = optimizer(parameters, lr=1e-2)
    if hasattr(chosen, "train"):
        chosen.train()
    found = []
    for _ in range(3):
        chosen.zero_grad()
        value = loss()
        value.backward()
        chosen.step()
        found.append(value.item())
    return found


class Field(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t, y):
        return self.layers(y**3)

    f = forward

    def g(self, t, y):
        return self.layers(y).sigmoid()


torch.manual_seed(0)
results = {}
field, start, times = Field(), torch.randn(3, 2), torch.linspace(0, 1, 4)
for method in ("dopri5", "rk4", "implicit_adams"):
    results[method] = torchdiffeq.odeint(field, start, times, method=method)[-1].tolist()
results["adjoint"] = trained(
    list(field.parameters()), lambda: torchdiffeq.odeint_adjoint(field, start, times).square().mean())
noise = {"size": (3, 2), "entropy": 3, "levy_area_approximation": "space-time"}
results["sde"] = torchsde.sdeint(
    field, start, times, dt=0.1, bm=torchsde.BrownianInterval(0.0, 1.0, **noise))[-1].tolist()

flow, points = zuko.flows.NSF(3, transforms=2, hidden_features=(16,)), torch.randn(16, 3)
results["flow"] = trained(flow.parameters(), lambda: -flow().log_prob(points).mean())
results["sampled"] = flow().sample((2,)).tolist()

scores = torch.randn(2, 6, requires_grad=True)
for name in ("sparsemax", "entmax15"):
    weights = getattr(entmax, name)(scores, dim=-1)
    (slope,) = torch.autograd.grad(weights.square().sum(), scores)
    results[name] = [weights.tolist(), slope.tolist()]

for optimizer in (Lion, AdamWScheduleFree):
    layer = torch.nn.Linear(3, 2)
    results[optimizer.__name__] = trained(
        layer.parameters(), lambda layer=layer: layer(points).square().mean(), optimizer)

embeddings, labels = torch.randn(12, 8, requires_grad=True), torch.arange(12) % 3
for loss in (losses.TripletMarginLoss(), losses.MultiSimilarityLoss(), losses.SupConLoss()):
    value = loss(embeddings, labels, miners.MultiSimilarityMiner()(embeddings, labels))
    (slope,) = torch.autograd.grad(value, embeddings)
    results[type(loss).__name__] = [value.item(), slope.abs().sum().item()]
print(json.dumps(results))
