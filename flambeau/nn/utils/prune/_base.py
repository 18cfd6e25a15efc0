"""What all pruning methods share, and several of them on one parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from .... import operators as ops
from ....tensor import Tensor
from ...modules.module import Module


def along(dim: int, dimensions: int, index: Any) -> tuple[Any, ...]:
    """Return an index that takes `index` in dimension `dim` and everything in the others."""
    parts: list[Any] = [slice(None)] * dimensions
    parts[dim] = index
    return tuple(parts)


class BasePruningMethod(ABC):
    """Base of the pruning methods; a subclass computes a mask and sets `PRUNING_TYPE`.

    The type says which entries the method is shown when it prunes what an earlier one has left:
    ``"unstructured"`` the entries left, in one dimension; ``"structured"`` the channels left along
    `self.dim`; ``"global"`` all.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils import prune
    >>> class EveryOther(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(2, 2)
    >>> method = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1.],
            [0., 1.]])
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for scores `t`, zero at least where `default_mask` is.

        >>> import flambeau as torch
        >>> pruning = torch.nn.utils.prune.L1Unstructured(amount=1)
        >>> pruning.compute_mask(torch.tensor([3.0, 1.0, 2.0]), torch.ones(3))
        tensor([1., 0., 1.])
        """

    def apply_mask(self, module: Module) -> Tensor:
        """Return `<name>_mask * <name>_orig` of the module.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> method = torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=1)
        >>> (method.apply_mask(layer) == 0).sum()
        tensor(1)
        """
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter with a new method of this class; return the hook, it or a container."""
        earlier = hook_on(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        hook = method
        if earlier is not None:
            hook = _together(earlier[1], method)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        default = ops.ones_like(original) if earlier is None else getattr(module, name + "_mask").detach()
        # Everything that may fail comes first: a module is pruned or left as it was.
        mask = hook.compute_mask(importance_scores, default_mask=default.clone())
        if earlier is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        else:
            del module._forward_pre_hooks[earlier[0]]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """Return a tensor with the mask for it applied.

        >>> import flambeau as torch
        >>> method = torch.nn.utils.prune.L1Unstructured(amount=1)
        >>> method.prune(torch.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
        """
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs "
                f"{t.shape}"
            )
        default_mask = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned value an ordinary parameter again; what was pruned stays zero.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> method = torch.nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=1)
        >>> method.remove(layer)
        >>> [name for name, _ in layer.named_parameters()], (layer.weight == 0).sum()
        (['weight'], tensor(1))
        """
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        assert original is not None
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def hook_on(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """Return the pruning hook on a parameter, with its id."""
    for hook_id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook_id, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several pruning methods on one parameter, in the order in which they were applied.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils import prune
    >>> layer = prune.ln_structured(torch.nn.Linear(4, 2), "weight", amount=1, n=2, dim=1)
    >>> layer = prune.l1_unstructured(layer, "weight", amount=2)
    >>> (hook,) = layer._forward_pre_hooks.values()
    >>> len(hook), type(hook[0]).__name__, int(layer.weight_mask.sum())
    (2, 'LnStructured', 4)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Append a method; it must be for the same parameter."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with the last method's mask in the entries that method is for."""
        method = self._pruning_methods[-1]
        left = _left_for(method, t, default_mask)
        mask = default_mask.clone().to(dtype=t.dtype)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(mask.dtype)
        return mask


def _together(earlier: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    methods = tuple(earlier) if isinstance(earlier, PruningContainer) else (earlier,)
    container = PruningContainer(methods[0])
    for later in (*methods[1:], method):
        container.add_pruning_method(later)
    return container


def _left_for(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
    """Return the index of the entries that a method may choose from."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return (slice(None),) * t.dim()
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim
    if dim < 0:
        dim += t.dim()
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    has_entries = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return along(dim, t.dim(), has_entries)
