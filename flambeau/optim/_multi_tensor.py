"""``torch.optim._multi_tensor``: the optimizers, taking all parameters at once unless told otherwise.

>>> import flambeau as torch
>>> from flambeau.optim import _multi_tensor
>>> _multi_tensor.Adam([torch.ones(2, requires_grad=True)]).param_groups[0]["foreach"]
True
"""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from .. import optim

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
           "SGD"]


def partialclass(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """The class, whose constructor is given these arguments besides."""
    class NewCls(cls):
        """The optimizer with its arguments."""

        __init__ = partialmethod(cls.__init__, *args, **kwargs)

    return NewCls


ASGD = partialclass(optim.ASGD, foreach=True)
Adadelta = partialclass(optim.Adadelta, foreach=True)
Adagrad = partialclass(optim.Adagrad, foreach=True)
Adam = partialclass(optim.Adam, foreach=True)
AdamW = partialclass(optim.AdamW, foreach=True)
Adamax = partialclass(optim.Adamax, foreach=True)
NAdam = partialclass(optim.NAdam, foreach=True)
RAdam = partialclass(optim.RAdam, foreach=True)
RMSprop = partialclass(optim.RMSprop, foreach=True)
Rprop = partialclass(optim.Rprop, foreach=True)
SGD = partialclass(optim.SGD, foreach=True)
