"""The marginal likelihood of a Gaussian process on 300 points by LBFGS: gradients of Cholesky factors."""
import torch
from _bench import run

torch.manual_seed(0)
x = torch.linspace(0, 1, 300).unsqueeze(1)
y = torch.sin(6 * x.squeeze()) + 0.1 * torch.randn(300)
length, noise = torch.tensor(0.1, requires_grad=True), torch.tensor(0.1, requires_grad=True)
optimizer = torch.optim.LBFGS([length, noise], lr=0.1, max_iter=5)


def closure():
    optimizer.zero_grad()
    covariance = torch.exp(-0.5 * torch.cdist(x, x) ** 2 / length.abs() ** 2)
    factor = torch.linalg.cholesky(covariance + (noise**2 + 1e-3) * torch.eye(300))
    weights = torch.cholesky_solve(y.unsqueeze(1), factor).squeeze()
    loss = 0.5 * y @ weights + factor.diagonal().log().sum()
    loss.backward()
    return loss


def step():
    return optimizer.step(closure).item()


run(step, 10, 3)
