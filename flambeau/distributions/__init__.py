"""``torch.distributions``: probability distributions, sampling and gradients through samples."""

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .chi2 import Chi2
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .fishersnedecor import FisherSnedecor
from .gamma import Gamma
from .geometric import Geometric
from .laplace import Laplace
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .normal import Normal
from .one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .poisson import Poisson
from .studentT import StudentT
from .uniform import Uniform
from . import constraint_registry, constraints, transforms
from .constraint_registry import biject_to, transform_to
from .independent import Independent
from .transformed_distribution import TransformedDistribution
from .transforms import *
