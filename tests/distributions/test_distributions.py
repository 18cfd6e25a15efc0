"""Every distribution beside PyTorch's: samples for a seed, densities, moments, gradients, repr."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

# Expressions in D (the module), t (tensor) and T (the framework), evaluated under both.
DISTRIBUTIONS = [
    "D.Bernoulli(t([0.2, 0.7]))", "D.Bernoulli(logits=t([0.2, -0.7]))", "D.Beta(t([1.5, 0.5]), t([2.0, "
                                                                        "3.0]))",
    "D.Binomial(5, t([0.2, 0.7]))", "D.Categorical(t([[0.2, 0.3, 0.5], [0.1, 0.1, 0.9]]))",
    "D.Categorical(logits=t([0.2, -1.0]))", "D.Cauchy(0.5, 2.0)", "D.Chi2(t([3.0, 0.5]))",
    "D.ContinuousBernoulli(t([0.2, 0.5, 0.7]))", "D.Dirichlet(t([[1.0, 2.0, 0.5], [2.0, 2.0, 2.0]]))",
    "D.Exponential(t([0.5, 2.0]))", "D.FisherSnedecor(t([4.0, 5.0]), t([5.0, 6.0]))",
    "D.Gamma(t([0.5, 3.0]), t([2.0, 0.3]))", "D.GeneralizedPareto(t([0.0, 1.0]), 1.0, t([0.1, -0.3]))",
    "D.Geometric(t([0.2, 0.7]))", "D.Gumbel(t([0.0, 1.0]), 2.0)", "D.HalfCauchy(2.0)", "D.HalfNormal(t([2.0, "
                                                                                       "1.0]))",
    "D.Independent(D.Normal(T.zeros(3, 2), 1.0), 1)", "D.InverseGamma(t([3.0, 1.5]), 2.0)",
    "D.Kumaraswamy(t([2.0, 3.0]), 1.5)", "D.Laplace(t([0.0, 1.0]), 2.0)", "D.LKJCholesky(3, t(1.5))",
    "D.LogNormal(0.5, t([0.5, 1.0]))", "D.LogisticNormal(T.zeros(2), T.ones(2))",
    "D.LowRankMultivariateNormal(T.zeros(3), t([[1.0], [0.5], [0.2]]), t([1.0, 2.0, 0.5]))",
    "D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Normal(t([0.0, 5.0]), 1.0))",
    "D.Multinomial(4, t([[0.2, 0.3, 0.5], [0.1, 0.1, 0.9]]))",
    "D.MultivariateNormal(t([1.0, 2.0]), t([[2.0, 0.5], [0.5, 1.0]]))",
    "D.MultivariateNormal(t([1.0, 2.0]), precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))",
    "D.NegativeBinomial(3.0, t([0.2, 0.7]))", "D.Normal(t([0.0, 1.0]), t([1.0, 2.0]))",
    "D.OneHotCategorical(t([0.2, 0.8]))", "D.OneHotCategoricalStraightThrough(t([0.2, 0.8]))",
    "D.Pareto(1.0, t([1.5, 3.0]))", "D.Poisson(t([0.5, 20.0]))", "D.RelaxedBernoulli(t(0.7), t([0.2, 0.7]))",
    "D.RelaxedOneHotCategorical(t(0.7), t([0.2, 0.8]))", "D.StudentT(t([3.0, 1.5]), 1.0, 2.0)",
    "D.TransformedDistribution(D.Normal(t([0.0, 1.0]), 1.0), [D.AffineTransform(1.0, 0.5), "
    "D.TanhTransform()])",
    "D.Uniform(t([0.0, 1.0]), 3.0)", "D.VonMises(t([0.0, 1.0]), t([1.0, 4.0]))",
    "D.Weibull(t([1.0, 2.0]), 1.5)", "D.Wishart(t(4.0), t([[2.0, 0.5], [0.5, 1.0]]))",
]
FACTS = ["mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample",
         "has_enumerate_support", "__repr__()", "support.__repr__()", "support.event_dim", "entropy()",
         "perplexity()", "enumerate_support()", "expand((3,) + tuple(d.batch_shape)).batch_shape",
         "expand((3,) + tuple(d.batch_shape)).sample().shape"]
PAIRS = [
    ("D.Normal(0.0, 1.0)", "D.Normal(1.0, 2.0)"), ("D.Gamma(2.0, 1.0)", "D.Gamma(1.5, 3.0)"),
    ("D.Beta(2.0, 1.0)", "D.Beta(1.5, 3.0)"), ("D.Bernoulli(0.2)", "D.Bernoulli(0.7)"),
    ("D.Categorical(t([0.2, 0.8]))", "D.Categorical(t([0.5, 0.5]))"),
    ("D.Laplace(0.0, 1.0)", "D.Laplace(1.0, 2.0)"),
    ("D.Dirichlet(t([1.0, 2.0]))", "D.Dirichlet(t([3.0, 0.5]))"), ("D.Cauchy(0.0, 1.0)", "D.Cauchy(1.0, "
                                                                                         "2.0)"),
    ("D.Exponential(1.0)", "D.Exponential(2.0)"), ("D.Gumbel(0.0, 1.0)", "D.Gumbel(1.0, 2.0)"),
    ("D.Geometric(0.2)", "D.Geometric(0.7)"), ("D.Poisson(1.0)", "D.Poisson(2.0)"),
    ("D.Pareto(2.0, 1.0)", "D.Pareto(1.0, 2.0)"), ("D.Uniform(0.0, 1.0)", "D.Uniform(-1.0, 2.0)"),
    ("D.HalfNormal(1.0)", "D.HalfNormal(2.0)"), ("D.LogNormal(0.0, 1.0)", "D.LogNormal(1.0, 2.0)"),
    ("D.Binomial(3, t(0.2))", "D.Binomial(3, t(0.7))"), ("D.Chi2(3.0)", "D.Chi2(4.0)"),
    ("D.OneHotCategorical(t([0.2, 0.8]))", "D.OneHotCategorical(t([0.5, 0.5]))"),
    ("D.Independent(D.Normal(T.zeros(2), 1.0), 1)", "D.Independent(D.Normal(T.ones(2), 1.0), 1)"),
    ("D.MultivariateNormal(T.zeros(2), T.eye(2))", "D.MultivariateNormal(T.ones(2), 2 * T.eye(2))"),
    ("D.Normal(0.0, 1.0)", "D.Laplace(1.0, 2.0)"), ("D.Normal(0.0, 1.0)", "D.Uniform(0.0, 1.0)"),
    ("D.Exponential(1.0)", "D.Gamma(2.0, 3.0)"), ("D.Exponential(1.0)", "D.Normal(2.0, 3.0)"),
    ("D.Gamma(2.0, 1.0)", "D.Exponential(3.0)"), ("D.Gamma(2.0, 1.0)", "D.Normal(0.0, 3.0)"),
    ("D.Uniform(0.0, 1.0)", "D.Normal(0.0, 3.0)"), ("D.Uniform(0.0, 1.0)", "D.Beta(2.0, 3.0)"),
    ("D.Laplace(0.0, 1.0)", "D.Normal(0.0, 3.0)"), ("D.Beta(2.0, 1.0)", "D.Normal(0.0, 3.0)"),
    ("D.Bernoulli(0.2)", "D.Poisson(0.7)"), ("D.Poisson(0.2)", "D.Bernoulli(0.7)"),
    ("D.Gumbel(0.0, 1.0)", "D.Normal(1.0, 2.0)"), ("D.Normal(0.0, 1.0)", "D.Gumbel(1.0, 2.0)"),
    ("D.Pareto(1.0, 3.0)", "D.Normal(1.0, 2.0)"), ("D.Uniform(0.0, 1.0)", "D.Gumbel(1.0, 2.0)"),
    *((p, "D.ContinuousBernoulli(t([0.2, 0.5, 0.7]))") for p in (
        "D.Beta(2.0, 3.0)", "D.ContinuousBernoulli(0.3)", "D.Exponential(2.0)", "D.Gamma(2.0, 1.0)",
        "D.Gumbel(0.0, 1.0)", "D.Laplace(0.0, 1.0)", "D.Normal(0.0, 1.0)", "D.Pareto(1.0, 3.0)",
        "D.Uniform(0.0, 1.0)", "D.Uniform(0.2, 0.7)")),
    *(("D.ContinuousBernoulli(t([0.2, 0.5, 0.7]))", q) for q in (
        "D.Exponential(2.0)", "D.Normal(0.5, 2.0)", "D.Pareto(1.0, 3.0)", "D.Uniform(0.0, 1.0)",
        "D.Uniform(-0.5, 1.5)")),
]


def _plain(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


def _outcome(code: str, framework: Any, **names: Any) -> Any:
    scope = {"T": framework, "t": framework.tensor,
             "D": importlib.import_module(framework.__name__ + ".distributions"), **names}
    try:
        return _plain(eval(code, scope))
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return type(error).__name__


def _agree(mine: Any, theirs: Any, what: str, rtol: float = 2e-5) -> None:
    if isinstance(theirs, np.ndarray):
        assert isinstance(mine, np.ndarray), (what, mine, theirs)
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), what
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-5, err_msg=what)
    else:
        assert mine == theirs, what


@pytest.fixture
def both(oracle: Any) -> tuple[Any, Any]:
    return importlib.import_module("flambeau"), oracle


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize("code", DISTRIBUTIONS)
def test_samples_and_densities(both: tuple[Any, Any], code: str) -> None:
    found = []
    for framework in both:
        d = eval(code, {"T": framework, "t": framework.tensor,
                        "D": importlib.import_module(framework.__name__ + ".distributions")})
        framework.manual_seed(11)
        drawn = d.sample((7,))
        facts = {"sample": _plain(drawn), "next": _plain(framework.rand(2))}
        given = drawn if not found else framework.tensor(found[0]["sample"])
        facts["log_prob"] = _outcome("d.log_prob(x)", framework, d=d, x=given)
        facts["cdf"] = _outcome("d.cdf(x)", framework, d=d, x=given)
        facts["icdf"] = _outcome("d.icdf(t(0.3))", framework, d=d)
        facts.update({fact: _outcome("d." + fact, framework, d=d) for fact in FACTS})
        found.append(facts)
    if "Kumaraswamy" in code:
        found[1].pop("mode")    # PyTorch gives NaN where the mode exists
    for what, theirs in found[1].items():
        _agree(found[0][what], theirs, f"{code}: {what}", rtol=2e-4 if what == "log_prob" else 2e-5)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_divergences(both: tuple[Any, Any], pair: tuple[str, str]) -> None:
    mine, theirs = (_outcome(f"D.kl_divergence({pair[0]}, {pair[1]})", framework) for framework in both)
    _agree(mine, theirs, str(pair))


@pytest.mark.parametrize("code", ["D.Gamma(p, p)", "D.Beta(p, 2 * p)", "D.Dirichlet(p)", "D.StudentT(p)",
                                  "D.Normal(p, p)", "D.Chi2(p)", "D.Weibull(p, p)", "D.Laplace(p, p)"])
def test_gradients_reach_the_parameters(both: tuple[Any, Any], code: str) -> None:
    found = []
    for framework in both:
        framework.manual_seed(3)
        p = framework.tensor([1.5, 2.5, 0.7], requires_grad=True)
        d = eval(code, {"p": p, "D": importlib.import_module(framework.__name__ + ".distributions")})
        d.rsample((4,)).sin().sum().backward()
        found.append(p.grad.numpy())
    # PyTorch approximates the derivative of a gamma sample to about three digits.
    np.testing.assert_allclose(found[0], found[1], rtol=5e-3, atol=5e-3)


def test_facts_without_the_oracle() -> None:
    T = importlib.import_module("flambeau")
    D = T.distributions
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert D.Normal(0.0, 1.0).log_prob(T.tensor(0.0)).item() == pytest.approx(-0.9189385)
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        D.Normal(0.0, -1.0)
    # d/da of a sample at its own quantile: for a = 1 and x = 1 known to many digits.
    slope = T._standard_gamma_grad(T.tensor([1.0], dtype=T.float64), T.tensor([1.0], dtype=T.float64))
    assert slope.item() == pytest.approx(1.1735630272)
