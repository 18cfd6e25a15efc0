"""``torch.backends``: switches of PyTorch's libraries, which flambeau does not have.

The switches keep what they are set to and say that the library is not there.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from . import cpu, cuda, cudnn, cusparselt, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Lets switches be set without ``flags``: they always can be."""
    yield


__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
           "opt_einsum"]
