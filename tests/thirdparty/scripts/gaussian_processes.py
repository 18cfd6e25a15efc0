"""GPyTorch: an exact and a variational Gaussian process, trained and asked; a Sobol sequence."""

# needs: gpytorch linear_operator
import json
import warnings

import gpytorch
import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 6) + 0.1 * torch.randn(20)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        kernel = gpytorch.kernels.RBFKernel() + gpytorch.kernels.MaternKernel(2.5)
        self.kernel = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def trained(model, loss):
    optimizer, found = torch.optim.Adam(model.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        found.append(value.item())
    return found


likelihood = gpytorch.likelihoods.GaussianLikelihood()
exact = Exact(likelihood)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, exact)
results = {"exact": trained(exact, lambda: -marginal(exact(x), y))}
exact.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    found = likelihood.eval()(exact(torch.linspace(0, 1, 7)))
    results["asked"] = [found.mean.tolist(), found.variance.tolist(), found.confidence_region()[0].tolist()]
variational = Variational(x[::4].unsqueeze(-1))
bound = gpytorch.mlls.VariationalELBO(gpytorch.likelihoods.GaussianLikelihood(), variational, 20)
results["variational"] = trained(variational, lambda: -bound(variational(x.unsqueeze(-1)), y))
results["sobol"] = torch.quasirandom.SobolEngine(3, scramble=True, seed=1).draw(4).tolist()
print(json.dumps(results))
