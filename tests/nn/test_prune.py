"""What pruning does, as facts that hold without PyTorch at hand."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

# Recorded with PyTorch 2.13 from a Linear(4, 3) made with seed 0.
MASKS = {
    "random": (lambda p, m: p.random_unstructured(m, "weight", 5), "1001 1101 0110"),
    "smallest": (lambda p, m: p.l1_unstructured(m, "weight", 0.5), "0111 1001 0010"),
    "random columns": (lambda p, m: p.random_structured(m, "weight", 2, 1), "0110 0110 0110"),
    "smallest row": (lambda p, m: p.ln_structured(m, "weight", 1, 2, 0), "1111 1111 0000"),
    "given": (lambda p, m: p.custom_from_mask(m, "weight", m.weight > 0.1), "0100 0101 0100"),
}


@pytest.fixture
def prune(torch: Any) -> Any:
    """The pruning module, which PyTorch only has once it is imported by name."""
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_those_of_pytorch(torch: Any, prune: Any, name: str) -> None:
    torch.manual_seed(0)
    apply, mask = MASKS[name]
    module = apply(prune, torch.nn.Linear(4, 3))
    found = " ".join("".join(str(int(v)) for v in row) for row in module.weight_mask.tolist())
    assert found == mask
    assert torch.equal(module.weight, module.weight_orig * module.weight_mask)


def test_failing_again_leaves_the_module_pruned(torch: Any, prune: Any) -> None:
    """A second method that cannot be applied changes nothing (PyTorch loses the hook)."""
    module = prune.l1_unstructured(torch.nn.Linear(4, 3), "weight", 3)
    before = [value.clone() for value in module.state_dict().values()]
    with pytest.raises(ValueError, match="amount=30 should be smaller than"):
        prune.l1_unstructured(module, "weight", 30)
    assert prune.is_pruned(module)
    assert all(map(torch.equal, before, module.state_dict().values()))


def test_training_keeps_what_is_pruned_at_zero(torch: Any, prune: Any) -> None:
    module = prune.l1_unstructured(torch.nn.Linear(4, 3), "weight", 6)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.ones(2, 4)).pow(2).sum().backward()
        optimizer.step()
    module(torch.ones(2, 4))
    assert int((module.weight == 0).sum()) == 6
    prune.remove(module, "weight")
    assert int((module.weight == 0).sum()) == 6 and module.weight.requires_grad
