"""How a module keeps its parameters, buffers and submodules apart from plain attributes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar

from ...tensor import Tensor
from ...tensor.typename import typename
from ..parameter import Buffer, Parameter
from ._member_access import install, installed_on
from ._registration_hooks import (
    buffer_registration_hooks,
    module_registration_hooks,
    parameter_registration_hooks,
    run_registration_hooks,
)

_TABLES = ("_parameters", "_buffers", "_modules")


def new_fields() -> dict[str, Any]:
    """Return what every module's `__dict__` starts with."""
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_non_persistent_buffers_set": set(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
        "_active_hooks": OrderedDict(),
        "_modules": {},
    }


class ModuleAttributes:
    """The part of `Module` that decides where an attribute lives.

    Parameters, buffers and submodules are kept in three tables, not in `__dict__`; a name is in at most one
    place.
    """

    call_super_init: ClassVar[bool] = False

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            self._reject_arguments(args, kwargs)
        self.__dict__.update(new_fields())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _reject_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if args:
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")

    # -- reading, writing, deleting
    # ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Called only after the ordinary lookup failed. A loop over the tables would double the cost of
        # `self.weight`, which every forward pays.
        fields = self.__dict__
        if "_parameters" in fields:
            table = fields["_parameters"]
            if name in table:
                return table[name]
            table = fields["_modules"]
            if name in table:
                return table[name]
            table = fields["_buffers"]
            if name in table:
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            self._set_parameter(name, value)
        elif name in fields.get("_parameters", ()):
            self._clear_or_refuse("_parameters", name, value, "parameter", "torch.nn.Parameter or None")
        elif isinstance(value, ModuleAttributes):
            self._set_module(name, value)
        elif name in fields.get("_modules", ()):
            self._clear_or_refuse("_modules", name, value, "child module", "torch.nn.Module or None")
        elif is_tensor and isinstance(value, Buffer):
            self._require_tables("buffer", "_buffers")
            self._forget(name, keep=("_buffers",))
            self.register_buffer(name, value, value.persistent)
        elif name in fields.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in _TABLES:
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        cls = type(self)
        visible = set(dir(cls)) - installed_on(cls)
        names = [*visible, *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        # "0" is a child of a Sequential but not an attribute one can type.
        return sorted(name for name in names if not name[0].isdigit())

    def _forget(self, name: str, keep: tuple[str, ...]) -> None:
        """Remove `name` from every place but the table it is about to enter, where its position is kept."""
        self.__dict__.pop(name, None)
        for table in _TABLES:
            if table not in keep:
                self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _require_tables(self, kind: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")

    def _set_parameter(self, name: str, value: Parameter) -> None:
        self._require_tables("parameters", "_parameters")
        self._forget(name, keep=("_parameters",))
        self.register_parameter(name, value)

    def _set_module(self, name: str, value: ModuleAttributes) -> None:
        self._require_tables("module", "_modules")
        self._forget(name, keep=("_modules",))
        self._modules[name] = run_registration_hooks(module_registration_hooks, self, name, value)
        install(type(self), "_modules", name, ModuleAttributes.__getattr__)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        self._buffers[name] = run_registration_hooks(buffer_registration_hooks, self, name, value)

    def _clear_or_refuse(self, table: str, name: str, value: Any, kind: str, expected: str) -> None:
        if value is not None:
            raise TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected} expected)")
        self.__dict__[table][name] = None

    # -- registration
    # --------------------------------------------------------------------------------------------

    def _check_name(self, name: Any, kind: str, table: str, dot_suffix: str = "") -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."{dot_suffix}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None reserves the name without a state-dict entry.

        >>> import flambeau as torch
        >>> layer = torch.nn.Module()
        >>> layer.register_parameter("bias", None)
        >>> layer.bias is None
        True
        """
        self._require_tables("parameter", "_parameters")
        self._check_name(name, "parameter", "_parameters")
        if param is None:
            self._parameters[name] = None
            install(type(self), "_parameters", name, ModuleAttributes.__getattr__)
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = run_registration_hooks(parameter_registration_hooks, self, name, param)
        install(type(self), "_parameters", name, ModuleAttributes.__getattr__)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but not trained; a non-persistent one stays out of the state dict.

        >>> import flambeau as torch
        >>> layer = torch.nn.Module()
        >>> layer.register_buffer("steps", torch.tensor(0))
        >>> layer.state_dict()["steps"]
        tensor(0)
        """
        self._require_tables("buffer", "_buffers")
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                "required)"
            )
        self._buffers[name] = run_registration_hooks(buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a child module under `name`, so that it can be reached as an attribute.

        >>> import flambeau as torch
        >>> net = torch.nn.Module()
        >>> net.add_module("head", torch.nn.Linear(2, 1))
        >>> net.head
        Linear(in_features=2, out_features=1, bias=True)
        """
        if module is not None and not isinstance(module, ModuleAttributes):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        dot_suffix = f", got: {name}" if isinstance(name, str) else ""
        self._check_name(name, "module", "_modules", dot_suffix)
        self._modules[name] = run_registration_hooks(module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Do what `add_module` does."""
        self.add_module(name, module)
