"""Running a row of the table in a framework, and comparing what two frameworks gave."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class Inputs:
    """Makes the inputs of a case from NumPy's generator, so that they are equal in every framework."""

    def __init__(self, torch: Any, dtype: str = "float32") -> None:
        self.torch = torch
        self.dtype = getattr(torch, dtype)
        self.random = np.random.RandomState(0)
        self.leaves: list[Any] = []

    def _leaf(self, array: Any) -> Any:
        leaf = self.torch.tensor(array.tolist(), dtype=self.dtype).requires_grad_()
        self.leaves.append(leaf)
        return leaf

    def _constant(self, array: Any) -> Any:
        return self.torch.tensor(array.tolist(), dtype=self.dtype)

    def x(self, *shape: int) -> Any:
        return self._leaf(self.random.randn(*shape).astype("float32"))

    def u(self, *shape: int) -> Any:
        return self._constant(self.random.uniform(0.05, 0.95, shape).astype("float32"))

    def n(self, high: int, *shape: int) -> Any:
        return self.torch.tensor(self.random.randint(0, high, shape).tolist())

    def sign(self, *shape: int) -> Any:
        return self._constant(self.random.randint(0, 2, shape) * 2.0 - 1.0)

    def mask(self, *shape: int) -> Any:
        mask = self.random.randint(0, 2, shape).astype(bool)
        mask[:, 0] = False
        return self.torch.tensor(mask.tolist())

    def names(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("x", "u", "n", "sign", "mask")}


def namespace(torch: Any) -> dict[str, Any]:
    return {**{n: getattr(torch.nn, n) for n in dir(torch.nn)}, "nn": torch.nn, "torch": torch}


def build(torch: Any, constructor: str) -> Any:
    """Return the module, with the parameters of seed 0."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(constructor, namespace(torch))


def tensors_of(torch: Any, value: Any) -> list[Any]:
    """Return the tensors in a nested structure, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_of(torch, item)]
    return []


def to_numpy(tensor: Any) -> Any:
    return np.array(tensor.detach().tolist())


def run(
    torch: Any, constructor: str, call: str, training: bool = True, dtype: str = "float32"
) -> dict[str, Any]:
    """Build, call and differentiate; return everything that can be seen."""
    module = build(torch, constructor).train(training).to(getattr(torch, dtype))
    seen: dict[str, Any] = {"repr before": repr(module)}
    inputs = Inputs(torch, dtype)
    arguments = eval(f"({call},)", {**namespace(torch), **inputs.names()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = module(*arguments)
    seen["repr"] = repr(module)
    for name, tensor in module.state_dict().items():
        seen[f"state {name}"] = to_numpy(tensor)
    seen["metadata"] = {name: dict(entry) for name, entry in module.state_dict()._metadata.items()}
    outputs = tensors_of(torch, output)
    for i, tensor in enumerate(outputs):
        seen[f"output {i} {tensor.dtype}"] = to_numpy(tensor)
    # A weighted sum, so that the gradient differs from place to place.
    total = sum(
        (tensor * torch.arange(1.0, tensor.numel() + 1).view(tensor.shape).to(tensor.dtype)).sum()
        for tensor in outputs
        if tensor.requires_grad
    )
    if isinstance(total, torch.Tensor):
        total.backward()
    for i, leaf in enumerate(inputs.leaves):
        seen[f"input grad {i}"] = None if leaf.grad is None else to_numpy(leaf.grad)
    for name, parameter in module.named_parameters():
        seen[f"grad {name}"] = None if parameter.grad is None else to_numpy(parameter.grad)
    return seen


def compare(ours: dict[str, Any], theirs: dict[str, Any], tolerance: float = 1e-5) -> None:
    """Assert that two results of `run` agree: texts exactly, values to rounding."""
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        if isinstance(value, np.ndarray):
            scale = max(1.0, float(np.abs(value[np.isfinite(value)]).max(initial=0.0)))
            near = {"rtol": 10 * tolerance, "atol": tolerance * scale}
            np.testing.assert_allclose(ours[key], value, err_msg=key, **near)
        else:
            assert ours[key] == value, key
