"""``torch.backends``: switches of PyTorch's libraries, which flambeau does not have.

The switches keep what they are set to and say that the library is not there.
"""

from . import cpu, cuda, cudnn, cusparselt, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
           "opt_einsum"]
