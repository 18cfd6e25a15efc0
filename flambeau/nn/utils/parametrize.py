"""Parameters computed from others: `module.weight` becomes f(original) at each use."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...autograd import no_grad
from ...tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

# Process-wide state, alive within `cached()` blocks: how many are open, and the values computed in them.
_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within a `with` block, compute each parametrized tensor once and keep it.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The functions applied in turn to the original tensor(s) of one parametrized name.

    They are kept as `original`, or `original0`, `original1`, ... if the first function takes several tensors.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations["weight"].original0.shape
    torch.Size([2, 1])
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype   # of the tensor as it was: it gets its inverse's data
        inverse = self._invert(original, modules)
        self.is_tensor = isinstance(inverse, Tensor)
        self.ntensors = 1 if self.is_tensor else len(inverse)
        if self.is_tensor:
            self._keep_original(original, inverse)
        else:
            for i, tensor in enumerate(inverse):
                kept = Parameter(tensor) if isinstance(original, Parameter) else tensor
                if isinstance(original, Parameter):
                    kept.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", kept)
        if not unsafe:
            self._check_result(shape, dtype)

    @staticmethod
    def _invert(original: Tensor, modules: Sequence[Module]) -> Any:
        """Return what the functions make `original` from."""
        value: Any = original
        # One that only sometimes has an inverse says so when it is asked for; `original` then stays as it is.
        with no_grad(), suppress(NotImplementedError):
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        if not isinstance(value, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        for i, each in enumerate(() if isinstance(value, Tensor) else value):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(each).__name__}."
                )
        return value

    def _keep_original(self, original: Tensor, inverse: Tensor) -> None:
        if original.dtype != inverse.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {inverse.dtype}"
            )
        # The object itself is kept, so that an optimizer that was given it stays valid.
        with no_grad():
            original.data = inverse.detach()
        _register(self, "original", original)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        if result.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag "
                f"is enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {result.dtype}"
            )
        if result.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag "
                f"is enabled.\nunparametrized shape: {shape}\nparametrized shape: {result.shape}"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set the original tensors so that the parametrized one becomes `value`.

        >>> import flambeau as torch
        >>> class Double(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...     def right_inverse(self, x):
        ...         return x / 2
        >>> layer = torch.nn.Linear(1, 1)
        >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Double())
        >>> layer.weight = torch.full((1, 1), 6.0)
        >>> layer.parametrizations.weight.original
        Parameter containing:
        tensor([[3.]], requires_grad=True)
        """
        with no_grad():
            modules = [self[i] for i in range(len(self))]
            for module in reversed(modules):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(values)}."
                )
            for tensor, new in zip(self._originals(), values, strict=True):
                tensor.data = new.detach()

    def _original_names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _originals(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._original_names()]

    def forward(self) -> Any:
        modules = iter(self)
        value = next(modules)(*self._originals())
        for module in modules:
            value = module(value)
        return value


def _inject_class(module: Module) -> None:
    """Give one module a class of its own, on which properties can be defined."""
    cls = type(module)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    home = __name__ if Tensor.__module__ != "torch" else "torch.nn.utils.parametrize"   # under the alias
    members = {"__getstate__": __getstate__, "__module__": home}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    """Make `name` a property that computes the parametrized tensor."""

    def get(self: Any) -> Tensor:
        if not _cache_depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be computed by `parametrization` from what it was; several are composed.

    A method `right_inverse` of the parametrization makes assignment possible. Unless `unsafe`, shape and
    dtype must
    be kept.

    >>> import flambeau as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _append(module: Module, name: str, parametrization: Module, unsafe: bool) -> None:
    """Compose one more function after those there are."""
    parametrizations = module.parametrizations[name]
    current = getattr(module, name)
    if not unsafe:
        with no_grad():
            result = parametrization(current)
        for attribute in ("dtype", "shape"):
            if getattr(result, attribute) != getattr(current, attribute):
                raise ValueError(
                    f"Registering a parametrization may not change the {attribute} of the tensor, unless the "
                    f"`unsafe` flag is enabled.\nmodule.{name}.{attribute}: {getattr(current, attribute)}\n"
                    f"parametrization(module.{name}).{attribute}: {getattr(result, attribute)}"
                )
    parametrizations.append(parametrization)
    parametrizations.unsafe |= unsafe


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Tell whether a module has any parametrization, or one of `tensor_name`.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
    >>> parametrize = torch.nn.utils.parametrize
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor an ordinary one: with its computed value, or with its original one.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
                original.data = value.detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach()
        original = Parameter(value) if parametrizations.original0.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
            "terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class the module had before it was parametrized.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module` and its parametrized tensors.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils import parametrize
    >>> first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrizations.orthogonal(first)
    >>> _ = parametrize.transfer_parametrizations_and_params(first, second)
    >>> parametrize.is_parametrized(second), torch.equal(first.weight, second.weight)
    (True, True)
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for part in source._original_names():
            setattr(target, part, getattr(source, part))
    return to_module
