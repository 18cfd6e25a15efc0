"""Every layer of the table beside PyTorch's: factory keywords, conversions, resetting, attributes."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .harness import build
from .layer_cases import CASES

pytestmark = pytest.mark.oracle

CONSTRUCTORS = list(dict.fromkeys(constructor for constructor, _ in CASES))
EXTRAS = ("dtype=torch.float64", "dtype=torch.bfloat16", "dtype=torch.int32", "device='meta'", "bogus=1")
UNSEEN = {"activation_relu_or_gelu"}    # which kernel PyTorch's fast path takes


def state(torch: ModuleType, module: Any) -> Any:
    """Names, dtypes, shapes and values; of lazy modules what they print."""
    if any(torch.nn.parameter.is_lazy(p) for p in (*module.parameters(), *module.buffers())):
        return repr(module)
    return [(*facts(name, x), None if x.is_meta else np.asarray(x.double().tolist()))
            for name, x in module.state_dict().items()]


def facts(name: str, x: Any) -> Any:
    return name, str(x.dtype).rpartition(".")[2], tuple(x.shape)


def made_with(torch: ModuleType, constructor: str, extra: str) -> Any:
    body = constructor[:-1]
    text = f"{body}{'' if body.endswith('(') else ', '}{extra})"
    try:
        module = build(torch, text)
    except Exception as error:
        return type(error).__name__, str(error) if "__init__()" in str(error) else ""
    return repr(module), state(torch, module)


def converted(torch: ModuleType, constructor: str) -> Any:
    module = build(torch, constructor)
    if "Lazy" in constructor:
        return repr(module.half())
    again = build(torch, constructor)
    if hasattr(again, "reset_parameters"):
        again.reset_parameters()
    empty = build(torch, constructor).to("meta").to_empty(device="cpu")
    return [state(torch, module.half()), state(torch, again),
            [facts(name, x) for name, x in empty.state_dict().items()]]


def described(torch: ModuleType, constructor: str) -> Any:
    module = build(torch, constructor)
    plain = (int, float, str, tuple, bool, type(None))
    attributes = sorted((name, repr(value)) for name, value in vars(module).items()
                        if not name.startswith("_") and isinstance(value, plain) and name not in UNSEEN)
    return attributes, type(module)._version, list(inspect.signature(type(module).forward).parameters)


def assert_same(ours: Any, theirs: Any, path: str = "") -> None:
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=path)
    elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), path
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(mine, other, f"{path}[{i}]")
    else:
        assert ours == theirs, path


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_layer_is_made_as_in_pytorch(torch: ModuleType, oracle: ModuleType, constructor: str) -> None:
    for extra in EXTRAS if constructor.endswith(")") else ():
        assert_same(*(made_with(each, constructor, extra) for each in (torch, oracle)), extra)
    for what in (converted, described):
        assert_same(*(what(each, constructor) for each in (torch, oracle)), what.__name__)
