"""The import finder that answers ``torch`` with flambeau.

Python processes that a program starts load this file by its path before anything else runs, and most of them
never import torch. So it needs nothing but the standard library, and flambeau itself (with NumPy behind it)
is imported at the first ``import torch``, not here.

Note [one module, two names]: ``torch.x`` is not a copy of ``flambeau.x`` but the same object in
``sys.modules``. The module keeps its own ``__name__`` and ``__spec__``; only the entry
``sys.modules["torch.x"]`` is added. Exceptions are what libraries know by its name: ``__name__`` of the
package is then "torch" (programs that patch functions by their path compare it), that of ``torch.jit`` and
``torch.nn.init`` likewise, and so is ``__module__`` of layers' and optimizers' classes and of those whose
objects lie in tensors' pickles, of the functions that those pickles call, and of the functions of
``torch.nn.init`` and ``torch.nn.functional``: with the alias a pickle of tensors or layers is one that
PyTorch reads.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = "flambeau"
# Public name -> where it lies.
ROOTS = {"torch": PACKAGE, "functorch": f"{PACKAGE}.functorch"}
# The folder that holds the package: an installation's site-packages or a checkout.
FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# flambeau's own parts, which PyTorch's users have no names for.
INNER = frozenset({"alias", "cli", "config", "devices", "dtypes", "engine", "errors", "executors",
                   "functorch", "graph", "layouts", "operators", "random_streams", "size", "tensor"})

# Packages that others import wherever they are installed, and that need what is not here: torchao registers
# compiler passes and wrapper subclasses while it is imported, deepspeed communicates between processes,
# xformers derives from PyTorch's own tests of its operators. In this process they are not installed.
UNSUITED = ("torchao", "deepspeed", "xformers")

_BOOTSTRAP = "<frozen importlib._bootstrap>"


def real_name(name: str) -> str | None:
    """The module behind an aliased name: ``torch.nn`` gives ``flambeau.nn``, ``numpy`` gives None."""
    root, dot, rest = name.partition(".")
    target = ROOTS.get(root)
    return None if target is None else target + dot + rest


def torch_name(name: str) -> str:
    """The name that PyTorch's users know: ``flambeau.nn`` gives ``torch.nn``; others stay as they are."""
    return "torch" + name[len(PACKAGE) :] if name == PACKAGE or name.startswith(PACKAGE + ".") else name


def missing(name: str) -> str:
    """What every error about an absent name says."""
    return f"flambeau has no {name} yet"


class AliasLoader:
    """Loads ``torch.x`` by importing ``flambeau.x`` (see Note [one module, two names])."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None     # the import system's own empty module: exec_module replaces it

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        target = importlib.import_module(self.target)
        sys.modules[module.__spec__.name] = target
        explain_missing_names(target)
        if self.target == PACKAGE:
            _name_as(target, torch_name)

    # runpy (python -m torch.x) asks the loader for the code.
    def get_code(self, name: str) -> Any:
        return self._target_loader().get_code(self.target)

    def is_package(self, name: str) -> bool:
        return bool(self._target_loader().is_package(self.target))

    def get_source(self, name: str) -> str | None:
        source: str | None = self._target_loader().get_source(self.target)
        return source

    def _target_loader(self) -> Any:
        spec = _spec_of(self.target)
        if spec is None:
            raise ImportError(missing(torch_name(self.target)), name=self.target)
        return spec.loader


class AliasFinder:
    """On ``sys.meta_path``: resolves ``torch``, ``functorch`` and, from a known place, flambeau itself."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == PACKAGE:
            # The copy that installed the alias, also where the child's sys.path does not reach it.
            return PathFinder.find_spec(name, [FOLDER])
        if name.startswith(PACKAGE + "."):
            return self._own_submodule(name, path)
        real = real_name(name)
        if real is None:
            return None
        if _exists(real):
            return self._alias_spec(name, real)
        frames = _import_frames()
        if "_handle_fromlist" in frames:
            raise _cannot_import(name)
        if "_find_and_load_unlocked" in frames:
            # An import statement gets the reason; a mere question (importlib.util.find_spec) gets None.
            raise ModuleNotFoundError(f"No module named {name!r}: {missing(name)}", name=name)
        return None

    def _alias_spec(self, name: str, real: str) -> ModuleSpec:
        own = _spec_of(real)
        # The locations are a copy: a shared list object would be recalculated for two names.
        packages = None if own is None else own.submodule_search_locations
        origin = None if own is None else own.origin
        loader: Any = AliasLoader(real)
        spec = ModuleSpec(name, loader, origin=origin, is_package=packages is not None)
        if packages is not None:
            spec.submodule_search_locations = list(packages)
        spec.has_location = bool(own and own.has_location)
        return spec

    def _own_submodule(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is None and "_handle_fromlist" in _import_frames():
            # 'from torch import x' looks for an attribute, then asks for flambeau.x. An error that is not a
            # ModuleNotFoundError for this very name comes through to the user.
            raise _cannot_import(torch_name(name))
        return spec

    def invalidate_caches(self) -> None:
        PathFinder.invalidate_caches()

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """What ``importlib.metadata.version('torch')`` finds: the API version that flambeau follows."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _distribution()


def _cannot_import(public: str) -> ImportError:
    package, _, last = public.rpartition(".")
    return ImportError(f"cannot import name {last!r} from {package!r}: {missing(public)}", name=package)


def _true_name(module: Any) -> str:
    """The name under which a module was first imported (see Note [one module, two names])."""
    spec = getattr(module, "__spec__", None)
    name: str = getattr(module, "__name__", "") if spec is None else spec.name
    return name


def _distribution() -> Any:
    from importlib.metadata import Distribution

    from flambeau.version import api_version  # the alias starts before the package is imported

    class TorchAPI(Distribution):
        def read_text(self, filename: str) -> str | None:
            if filename in ("METADATA", "PKG-INFO"):
                summary = "PyTorch's API, answered by flambeau"
                return f"Metadata-Version: 2.1\nName: torch\nVersion: {api_version}\nSummary: {summary}\n"
            return None

        def locate_file(self, path: Any) -> Any:
            return os.path.join(FOLDER, path)

    return TorchAPI()


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return _spec_of(name) is not None
    except ModuleNotFoundError:     # the parent is no package, or is missing itself
        return False


def _spec_of(name: str) -> ModuleSpec | None:
    if name == PACKAGE and PACKAGE not in sys.modules:
        return PathFinder.find_spec(PACKAGE, [FOLDER])
    import importlib.util

    try:
        return importlib.util.find_spec(name)
    except ValueError:              # a module made by hand, without a spec
        return None


def _import_frames() -> list[str]:
    """The import system's functions that led here, innermost first."""
    names = []
    frame = sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename == _BOOTSTRAP:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


# -- attributes that are not there -------------------------------------------------------------------------


def explain_missing_names(module: ModuleType) -> None:
    """Make ``module.absent`` say that flambeau has no such name yet, in its submodules as well."""
    present = module.__dict__.get("__getattr__")
    name = _true_name(module)
    package, *inside = name.split(".")
    public = package == PACKAGE and INNER.isdisjoint(inside[:1])
    if public and not isinstance(present, _MissingName):
        module.__dict__["__getattr__"] = _MissingName(torch_name(name), present)
        for value in list(module.__dict__.values()):
            if isinstance(value, ModuleType) and _true_name(value).startswith(name + "."):
                explain_missing_names(value)


class _MissingName:
    """A module's ``__getattr__``: asks the module's own first, then raises."""

    def __init__(self, module: str, own: Callable[[str], Any] | None) -> None:
        self.module = module
        self.own = own

    def __call__(self, name: str) -> Any:
        if self.own is not None:
            try:
                value = self.own(name)
            except AttributeError:
                pass
            else:
                if isinstance(value, ModuleType):
                    explain_missing_names(value)
                return value
        message = f"module {self.module!r} has no attribute {name!r}"
        if not name.startswith("__"):
            message += f": {missing(f'{self.module}.{name}')}"
        raise AttributeError(message, name=name, obj=sys.modules.get(self.module))


# -- switching it on ---------------------------------------------------------------------------------------


# Where classes and functions lie that bear their public names now.
_HOMES: dict[Any, str] = {}
# Modules whose functions bear their public names.
_NAMED = ("nn.init", "_utils", "storage")


def _name_as(package: Any, named: Callable[[str], str]) -> None:
    """Name what libraries know by its name (see Note [one module, two names])."""
    public = named(PACKAGE) != PACKAGE
    package.Tensor.__module__ = named(PACKAGE) if public else f"{PACKAGE}.tensor.tensor"
    for kind, own in ((package.dtype, "dtypes"), (package.device, "devices"), (package.Size, "size"),
                      (package.layout, "layouts"), (package.memory_format, "layouts")):
        kind.__module__ = named(PACKAGE) if public else f"{PACKAGE}.{own}"
    package.nn.Parameter.__module__ = named(f"{PACKAGE}.nn.parameter")
    package.Generator.__module__ = named(f"{PACKAGE}._C") if public else f"{PACKAGE}.tensor.generator"
    for module in (package, package.jit, package.nn.init):
        module.__name__ = named(_true_name(module))
    for inner in _NAMED:
        name = f"{PACKAGE}.{inner}"
        for value in vars(sys.modules[name]).values():
            if getattr(value, "__module__", None) in (name, torch_name(name)):
                value.__module__ = named(name)
    _name_layers(package, public)
    # PyTorch has this one beside its class.
    rebuilt = sys.modules[f"{PACKAGE}._utils"]._rebuild_from_type_v2
    rebuilt.__module__ = named(f"{PACKAGE}._tensor") if public else rebuilt.__module__


def _name_layers(package: Any, public: bool) -> None:
    """Name classes of layers and optimizers as PyTorch's where that is a place in which they are found."""
    if not public:
        while _HOMES:
            kind, own = _HOMES.popitem()
            kind.__module__ = own
        return
    homes = f"{PACKAGE}.nn.modules.", f"{PACKAGE}.optim."
    inside = [module for name, module in list(sys.modules.items()) if name.startswith(homes)]
    for kind in {value for module in inside for value in vars(module).values() if isinstance(value, type)}:
        own = kind.__module__
        if not own.startswith(homes) or kind.__name__.startswith("_"):
            continue
        name: str = package.serialization.names.public_name(kind)[0]
        place = importlib.import_module(PACKAGE + name[len("torch"):])
        if vars(place).setdefault(kind.__name__, kind) is kind:
            _HOMES[kind] = own
            kind.__module__ = name
            sys.modules.setdefault(name, place)     # where inspect looks for the file of the class
    # Layers keep functions of activation.
    for name, value in vars(package.nn.functional).items():
        own = getattr(value, "__module__", None) or ""
        if isinstance(value, FunctionType) and value.__qualname__ == name and own.startswith(PACKAGE + "."):
            _HOMES[value] = own
            value.__module__ = f"{torch_name(PACKAGE)}.nn.functional"


def installed() -> bool:
    """Whether ``torch`` means flambeau in this process."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


def foreign_torch() -> ModuleType | None:
    """The real torch, if this process has imported it."""
    module = sys.modules.get("torch")
    return None if module is None or _true_name(module) == PACKAGE else module


def install() -> None:
    """Put the finder first on ``sys.meta_path``; does nothing where it is there already."""
    real = foreign_torch()
    if real is not None:
        where = getattr(real, "__file__", None) or "unknown place"
        raise RuntimeError(
            f"torch is already imported from {where}, so it cannot be made to mean flambeau any more; "
            "call flambeau.alias() before the first 'import torch', or start the program with 'flambeau run'"
        )
    if not installed():
        sys.meta_path.insert(0, AliasFinder())
        for name in UNSUITED:
            if name not in sys.modules and PathFinder.find_spec(name) is not None:
                # Python's way to say so: find_spec() gives None, and an import raises ModuleNotFoundError.
                sys.modules[name] = None    # type: ignore[assignment]


def uninstall() -> None:
    """Take the finder and the aliased modules away again (for tests)."""
    for name in UNSUITED:
        if name in sys.modules and sys.modules[name] is None:
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AliasFinder)]
    for name in list(_aliased_names()):
        del sys.modules[name]
    if PACKAGE in sys.modules:
        _name_as(sys.modules[PACKAGE], lambda name: name)


def _aliased_names() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ROOTS and _true_name(module).partition(".")[0] == PACKAGE:
            yield name
