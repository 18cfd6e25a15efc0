"""``Library``, ``define`` and ``impl``: the older way to make operators, from a schema and kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .custom_ops import CustomOpDef, resolve
from .dispatch_keys import DispatchKey
from .schema import parse_schema
from .table import find, put

_RESERVED = ("aten", "prims", "prim")

# Dispatch keys and types of devices, by the type of device; None is any.
_KINDS: dict[str, str | None] = {
    "": None, "default": None, "CompositeExplicitAutograd": None, "CompositeImplicitAutograd": None,
    "CPU": "cpu", "cpu": "cpu", "Meta": "meta", "meta": "meta", "CUDA": "cuda", "cuda": "cuda",
}


class Library:
    """A namespace of operators. ``kind`` is "DEF" (a new one), "FRAGMENT" or "IMPL".

    >>> import flambeau as torch
    >>> lib = torch.library.Library("doc2", "DEF")
    >>> lib.define("inc(Tensor x) -> Tensor")
    'inc'
    >>> lib.impl("inc", lambda x: x + 1, "CPU")
    >>> torch.ops.doc2.inc(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF" and ns in _RESERVED:
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; "
                               "please put all of your definitions in a single TORCH_LIBRARY block.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: set[str] = set()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an operator of a schema such as ``"f(Tensor x) -> Tensor"``; its name comes back.

        >>> import flambeau as torch
        >>> library = torch.library.Library("examples_define", "DEF")
        >>> library.define("f(Tensor x) -> Tensor")
        'f'
        """
        name = schema.partition("(")[0].strip()
        parsed = parse_schema(f"{self.ns}::{schema.strip()}" if "(" in schema else schema)
        if name in self._defined:
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple "
                "times. Each overload's schema should only be registered with a single call to def().")
        self._defined.add(name)
        define(f"{self.ns}::{name}", schema.strip()[len(name):])
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Add a kernel for a device's dispatch key; those for autocast are used while that is on.

        >>> import flambeau as torch
        >>> library = torch.library.Library("examples_impl", "DEF")
        >>> _ = library.define("f(Tensor x) -> Tensor")
        >>> library.impl("f", lambda x: x + 1, "CPU")
        >>> torch.ops.examples_impl.f(torch.zeros(1))
        tensor([1.])
        """
        name = op_name if isinstance(op_name, str) else op_name.operator.name
        qualname = f"{self.ns}::{name.partition('::')[2] or name}"
        key = dispatch_key or self.dispatch_key
        if fn is fallthrough_kernel:
            return
        if key.startswith("Autocast"):
            resolve(qualname).register_autocast_kernel(DispatchKey[key], fn)
            return
        if key in ("Autograd", "AutogradCPU"):
            resolve(qualname).register_autograd_kernel(fn)
            return
        if key == "Meta":
            resolve(qualname).register_fake(fn)
            return
        impl(qualname, key, fn)


def define(qualname: str, schema: str = "", *, lib: Any = None, tags: Any = ()) -> None:
    """Make an operator without kernels; they come with ``impl``.

    >>> import flambeau as torch
    >>> torch.library.define("flambeau_doc::twice", "(Tensor x) -> Tensor")
    >>> torch.library.impl("flambeau_doc::twice", "CPU", lambda x: 2 * x)
    >>> torch.ops.flambeau_doc.twice(torch.ones(2))
    tensor([2., 2.])
    """
    if "::" not in qualname:
        raise ValueError("define(qualname, ...): expected qualname to be of the form 'namespace::name', got "
                         f"{qualname}")
    if find(qualname) is None:
        put(CustomOpDef(qualname, None, mutates_args="unknown" if "!" in schema else (), schema=schema
                        or None))


def fallthrough_kernel() -> None:
    """Given to ``Library.impl`` in place of a kernel: what is below computes."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def impl(qualname: str, types: str | Sequence[str], func: Callable[..., Any] | None = None, *,
         lib: Any = None) -> Any:
    """Add a kernel for types of devices; a decorator without ``func``.

    >>> import flambeau as torch
    >>> torch.library.define("examples::doubled", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("examples::doubled", "cpu")
    ... def doubled(x):
    ...     return 2 * x
    >>> torch.ops.examples.doubled(torch.ones(1))
    tensor([2.])
    """
    kinds = [types] if isinstance(types, str) else types
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if unknown:
        raise ValueError(f"flambeau has no kernels for {unknown[0]!r}")
    devices = [_KINDS[kind] for kind in kinds]

    def register(func: Callable[..., Any]) -> None:     # gives no function back, as in PyTorch
        resolve(qualname).register_kernel(devices, func)
    return register if func is None else register(func)
