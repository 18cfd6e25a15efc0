"""Pruning: masks, what is kept where, hooks, composition, errors."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

from .program import attempt, program, values


def module_of(torch: Any) -> Any:
    """Return the pruning module, which PyTorch only has once it is imported by name."""
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


def layer(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(4, 3)


def mask_of(module: Any, name: str = "weight") -> Any:
    return getattr(module, name + "_mask").tolist()


def hooks_of(module: Any) -> Any:
    return [
        [
            type(hook).__name__,
            [type(method).__name__ for method in hook] if hasattr(hook, "__len__") else None,
        ]
        for hook in module._forward_pre_hooks.values()
    ]


@program
def prune_amounts(torch: Any) -> Any:
    prune = module_of(torch)
    log = []
    for amount in (0, 1, 3, 12, 13, -1, 0.0, 0.5, 0.49, 1.0, 1.1, -0.1, 2.0, "x", None, [1], torch.tensor(2)):
        log.append(
            attempt(lambda amount=amount: mask_of(prune.random_unstructured(layer(torch), "weight", amount)))
        )
        log.append(
            attempt(lambda amount=amount: mask_of(prune.l1_unstructured(layer(torch), "weight", amount)))
        )
    return log


@program
def prune_channels(torch: Any) -> Any:
    prune, log = module_of(torch), []
    inf = float("inf")
    for dim in (0, 1, -1, -2, 2, -3):
        for amount in (0, 1, 2, 0.5, 4, 5):
            tries = [lambda a=amount, d=dim: prune.random_structured(layer(torch), "weight", a, d)]
            for n in (1, 2, inf, -inf, "fro", "nuc", "x"):
                tries.append(
                    lambda a=amount, d=dim, n=n: prune.ln_structured(layer(torch), "weight", a, n, d)
                )
            log += [attempt(lambda t=t: mask_of(t())) for t in tries]
    for dim in (0, 1, 2, 3):
        torch.manual_seed(1)
        conv = torch.nn.Conv2d(2, 4, 2)
        log.append(mask_of(prune.random_structured(conv, "weight", 0.5, dim)))
        log.append(mask_of(prune.ln_structured(conv, "weight", 0.5, 2, dim)))
    log.append(attempt(lambda: prune.random_structured(layer(torch), "bias", 1, 0)))
    log.append(attempt(lambda: prune.ln_structured(layer(torch), "bias", 1, 2, 0)))
    return log


@program
def prune_state_and_hooks(torch: Any) -> Any:
    prune, m = module_of(torch), layer(torch)
    original = m.weight
    log: list[Any] = [prune.random_structured(m, "weight", 1, 1) is m, values(m.state_dict()), hooks_of(m)]
    log.append([[n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], repr(m)])
    log.append([m.weight_orig is original, type(m.weight).__name__, "weight" in m.__dict__])
    log.append([type(m.weight.grad_fn).__name__, prune.is_pruned(m), prune.is_pruned(torch.nn.Sequential(m))])
    prune.l1_unstructured(m, "weight", 2)
    prune.random_unstructured(m, "bias", 1)
    log.append([hooks_of(m), mask_of(m), mask_of(m, "bias")])
    prune.custom_from_mask(m, "weight", torch.eye(3, 4))
    prune.ln_structured(m, "weight", 1, 2, 0)
    log.append([hooks_of(m), mask_of(m)])
    m(torch.ones(2, 4)).sum().backward()
    log.append([m.weight_orig.grad.tolist(), m.weight.tolist()])
    with torch.no_grad():
        m.weight_orig.mul_(2)
    before = m.weight.tolist()
    m(torch.ones(2, 4))
    log.append([before, m.weight.tolist()])
    log.append(attempt(lambda: copy.deepcopy(m))[0])
    log.append(pickle.loads(pickle.dumps(m)).weight.tolist())
    log.append(
        [prune.remove(m, "weight") is m, m.weight is original, list(m.state_dict()), m.weight.tolist()]
    )
    log.append([hooks_of(m), prune.is_pruned(m), attempt(lambda: prune.remove(m, "weight"))])
    log.append([attempt(lambda: prune.remove(m, "zz")), prune.is_pruned(prune.remove(m, "bias"))])
    other = prune.identity(layer(torch).double(), "weight")
    other.load_state_dict(prune.l1_unstructured(layer(torch), "weight", 5).state_dict())
    log.append([mask_of(other), str(other.weight_mask.dtype), hooks_of(other)])
    return log


@program
def prune_with_scores_and_masks(torch: Any) -> Any:
    prune = module_of(torch)
    scores = torch.arange(12.0).view(3, 4)
    return [
        mask_of(prune.l1_unstructured(layer(torch), "bias", 1, importance_scores=scores[0, 1:] % 3), "bias"),
        mask_of(prune.ln_structured(layer(torch), "weight", 1, 2, 0, importance_scores=-scores)),
        mask_of(prune.custom_from_mask(layer(torch), "bias", torch.tensor([True, False, True])), "bias"),
        attempt(lambda: prune.l1_unstructured(layer(torch), "bias", 1, importance_scores=torch.ones(2))),
        attempt(lambda: prune.custom_from_mask(layer(torch), "bias", torch.ones(2))),
        attempt(lambda: prune.custom_from_mask(layer(torch), "weight", torch.ones(1, 4))),
        attempt(lambda: prune.identity(layer(torch), "zz")),
        attempt(lambda: prune.identity(torch.nn.Linear(2, 2, bias=False), "bias")),
        prune.L1Unstructured(2).prune(torch.arange(6.0) - 3).tolist(),
        prune.L1Unstructured(2).prune(torch.arange(6.0) - 3, importance_scores=torch.arange(6.0)).tolist(),
        prune.L1Unstructured(2).prune(torch.arange(6.0) - 3, torch.tensor([0, 1, 1, 1, 1, 1])).tolist(),
        attempt(lambda: prune.L1Unstructured(2).prune(torch.ones(6), importance_scores=torch.ones(5))),
        attempt(lambda: prune.L1Unstructured(2).apply_mask(layer(torch))),
    ]  # fmt: skip


@program
def prune_globally(torch: Any) -> Any:
    prune, log = module_of(torch), []

    def masks(method: Any, scores: Any = None, **options: Any) -> Any:
        a = layer(torch)
        b = prune.l1_unstructured(torch.nn.Linear(3, 2), "weight", 2)
        given = None if scores is None else {(a, "weight"): scores}
        prune.global_unstructured([(a, "weight"), (b, "weight")], method, given, **options)
        return [mask_of(a), mask_of(b), hooks_of(a), hooks_of(b), str(torch.rand(1).item())[:6]]

    log.append(masks(prune.L1Unstructured, amount=5))
    log.append(masks(prune.RandomUnstructured, amount=0.5))
    log.append(masks(prune.L1Unstructured, torch.arange(12.0).view(3, 4) / 10, amount=5))
    for action in (
        lambda: masks(prune.RandomStructured, amount=0.5),
        lambda: masks(prune.L1Unstructured),
        lambda: masks(prune.L1Unstructured, amount=500),
        lambda: masks(prune.L1Unstructured, torch.ones(3), amount=5),
        lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
        lambda: prune.global_unstructured([(layer(torch), "weight")], prune.L1Unstructured, [1], amount=1),
    ):
        log.append(attempt(action))
    return log


@program
def prune_with_own_methods(torch: Any) -> Any:
    prune, log = module_of(torch), []
    left = torch.tensor([[1.0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    for kind in ("unstructured", "structured", "global", "other"):
        for dim in (0, -1, -3):

            class Half(prune.BasePruningMethod):
                PRUNING_TYPE = kind
                dim_ = dim

                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    log.append([list(args), kwargs])
                    self.dim = self.dim_

                def compute_mask(self, t: Any, default_mask: Any) -> Any:
                    log.append([t.tolist(), default_mask.tolist()])
                    mask = default_mask.clone()
                    mask.view(-1)[::2] = 0
                    return mask

            m = prune.custom_from_mask(layer(torch), "weight", left)
            log.append(
                attempt(
                    lambda m=m, method=Half: (
                        hooks_of(m) and method.apply(m, "weight", 1, key=2) and mask_of(m)
                    )
                )
            )
    container, a, b = prune.PruningContainer(), prune.L1Unstructured(1), prune.L1Unstructured(2)
    a._tensor_name, b._tensor_name = "weight", "bias"
    log.append([len(container), len(prune.PruningContainer(a)), prune.PruningContainer(a)[0] is a])
    log.append(attempt(lambda: prune.PruningContainer(a).add_pruning_method(3)))
    log.append(attempt(lambda: prune.PruningContainer(a).add_pruning_method(b))[0])
    log.append(attempt(lambda: prune.BasePruningMethod()))
    return log
