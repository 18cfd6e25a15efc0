"""PyTorch's random numbers on the CPU, bit for bit, as NumPy kernels.

Every kernel takes the state of a stream and returns its values and the state after them; no state is changed
(see the note in ``state``). Found by comparing PyTorch 2.13's numbers with the raw outputs of the Mersenne
Twister.

>>> import numpy as np
>>> from flambeau.random_streams import seed_state, uniform
>>> values, state = uniform(seed_state(0), (3,), 0.0, 1.0, np.dtype(np.float32))
>>> [round(float(v), 4) for v in values]
[0.4963, 0.7682, 0.0885]
"""

from .bernoulli import bernoulli, bernoulli_each, rrelu_slopes
from .continuous import cauchy, exponential, geometric, log_normal
from .counts import binomial, poisson
from .gammas import dirichlet, standard_gamma
from .integers import floating_bounds, limit_of, randint, random_full
from .multinomial import multinomial
from .normal import normal
from .permutation import randperm
from .state import STATE_BYTES, State, Stream, check_state, seed_of, seed_state
from .uniform import uniform

__all__ = [
    "STATE_BYTES", "State", "Stream", "bernoulli", "bernoulli_each", "binomial", "cauchy",
    "check_state", "dirichlet", "exponential", "floating_bounds", "geometric",
    "limit_of", "log_normal", "multinomial", "normal", "poisson", "randint", "random_full", "randperm",
    "rrelu_slopes", "seed_of", "seed_state", "standard_gamma", "uniform",
]
