"""``torch.jit.trace``: what it gives looks and answers like a traced module, and runs the Python code.

Nothing is frozen here. PyTorch keeps the operators that one example went through; flambeau records
operators at every call anyhow, and compiles those that return. So a "traced" function calls the function it
was made of: for code that a trace is right about the results are the same, and where a trace would have
frozen a branch, a loop or a random draw the Python code still decides. The modules keep the mode
(``train``, ``eval``) they were traced in, as in PyTorch, and share parameters and buffers with the module
they were made of.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import random
from ..nn.modules.module import Module
from ..tensor import Tensor
from ..utils._pytree import tree_leaves

# Of this module's line, as PyTorch's is of PyTorch's: such warnings of other modules than the main one are
# not shown unless somebody asks for them.
_DEPRECATED = "`torch.jit.{}` is deprecated. Please switch to `torch.compile` or `torch.export`."
_OUTPUTS = ("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
            "functions")
_depth = [0]


class Error(Exception):
    """What TorchScript's interpreter raises; Python code raises its own errors here."""


class TracerWarning(Warning):
    """A traced function gave another result when it was run again."""


class TracingCheckError(Exception):
    """The class of failed checks of a trace; a difference is told by a ``TracerWarning``."""


@contextmanager
def _told_as_runtime_errors() -> Iterator[None]:
    """What a traced function raises is a RuntimeError that names the error of the code."""
    try:
        yield
    except RuntimeError:
        raise
    except Exception as error:
        raise RuntimeError(f"The following operation failed: {type(error).__name__}: {error}") from error


class ScriptFunction:
    """A traced function.

    >>> import warnings; import flambeau as torch
    >>> warnings.simplefilter("ignore", DeprecationWarning)
    >>> double = torch.jit.trace(lambda x: 2 * x, torch.ones(1), check_trace=False)
    >>> double(torch.ones(2)), isinstance(double, torch.jit.ScriptFunction)
    (tensor([2., 2.]), True)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _told_as_runtime_errors():
            return self._function(*args, **kwargs)


class ScriptModule(Module):
    """The class of TorchScript's modules; of those, ``torch.jit.trace`` makes the traced ones."""


class RecursiveScriptModule(ScriptModule):
    """The class of TorchScript's loaded modules: for ``isinstance``, nothing here is one."""


class TracedModule(ScriptModule):
    """A module as it was when it was traced; its members are the traced module's own."""

    def __init__(self, copied: Module, made: dict[int, TracedModule]) -> None:
        super().__init__()
        made[id(copied)] = self
        state = copied.__dict__
        # The tables themselves: what `to` or `load_state_dict` puts there, the copy computes with.
        shared = ("_parameters", "_buffers", "_non_persistent_buffers_set", "training")
        self.__dict__.update({name: state[name] for name in shared}, _copied=copied,
                             original_name=type(copied).__name__)
        for name, child in copied._modules.items():
            known = None if child is None else made.get(id(child)) or TracedModule(child, made)
            self.add_module(name, known)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the traced module does."""
        with _told_as_runtime_errors():
            return self._copied(*args, **kwargs)

    def _get_name(self) -> str:
        return str(self.original_name)

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


class TopLevelTracedModule(TracedModule):
    """What ``torch.jit.trace`` gives for a module."""


def is_tracing() -> bool:
    """Whether this code runs for ``torch.jit.trace``, with its example.

    >>> import flambeau as torch
    >>> torch.jit.is_tracing()
    False
    """
    return _depth[0] > 0


@contextmanager
def _tracing() -> Iterator[None]:
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1


def _shared_copy(module: Module, made: dict[int, Module]) -> Module:
    """Modules like those of a tree, in modes of their own, with the same parameters and buffers."""
    if id(module) not in made:
        made[id(module)] = copied = copy.copy(module)
        state = copied.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            state[table] = dict(state[table])
        for name, child in module._modules.items():
            state["_modules"][name] = None if child is None else _shared_copy(child, made)
    return made[id(module)]


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    if isinstance(inputs, (Tensor, dict)):
        return (inputs,)
    return inputs if isinstance(inputs, tuple) else tuple(inputs)


def _checked_output(result: Any, strict: bool) -> None:
    leaves = tree_leaves(result)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(_OUTPUTS)
    if strict and isinstance(result, dict):
        raise RuntimeError(
            "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is "
            "only valid if the container structure does not change based on the module's inputs. Consider "
            "using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
            "`NamedTuple` instead). If you absolutely need this and know the side effects, pass "
            "strict=False to trace() to allow this behavior.")


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool,
         check: bool, tolerance: float) -> None:
    """The example's call, and as many again as PyTorch makes to check it: state and draws move on alike."""
    if not all(isinstance(leaf, Tensor) for leaf in tree_leaves((args, kwargs))):
        kinds = ", ".join("Tensor" if isinstance(a, Tensor) else type(a).__name__ for a in args)
        raise RuntimeError(f"Type 'Tuple[{kinds}]' cannot be traced. Only Tensors and (possibly nested) "
                           "Lists, Dicts, and Tuples of Tensors can be traced")
    with _tracing():
        first = function(*args, **kwargs)
    _checked_output(first, strict)
    if not check:
        return
    from ..testing import assert_close  # most programs trace nothing
    with random.fork_rng(devices=[]), _tracing():
        function(*args, **kwargs)
    results = [tree_leaves(function(*args, **kwargs)) for _ in range(3)]
    for number, pair in enumerate(zip(results[0], results[1]), 1):
        try:
            assert_close(*pair, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(f"Output nr {number}. of the traced function does not match the corresponding "
                          f"output of the Python function. Detailed error:\n{error}", TracerWarning,
                          stacklevel=4)


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
          _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
          example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True) -> Any:
    """A module or function run once with an example, and from then on whenever it is called.

    The result is a ``ScriptModule`` (``ScriptFunction``) that calls the Python code: branches are not frozen.

    >>> import warnings; import flambeau as torch
    >>> warnings.simplefilter("ignore", DeprecationWarning)
    >>> layer = torch.nn.Linear(2, 1)
    >>> traced = torch.jit.trace(layer, torch.ones(3, 2))
    >>> isinstance(traced, torch.jit.ScriptModule), traced.weight is layer.weight
    (True, True)
    """
    warnings.warn(_DEPRECATED.format("trace"), DeprecationWarning)
    if isinstance(func, (ScriptModule, ScriptFunction)):
        warnings.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the "
                      "object as is.", stacklevel=2)
        return func
    if example_inputs is None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    args = () if example_inputs is None else _as_tuple(example_inputs)
    if isinstance(func, Module):
        return _traced_module(func, {"forward": (args, example_kwarg_inputs or {})}, strict, check_trace,
                              check_tolerance)
    if isinstance(getattr(func, "__self__", None), Module):
        if func.__name__ == "forward":
            return trace(func.__self__, example_inputs, check_trace=check_trace, strict=strict,
                         check_tolerance=check_tolerance, example_kwarg_inputs=example_kwarg_inputs)
        raise AttributeError("trace doesn't support compiling individual module's functions.\n"
                             "Please use trace_module")
    _run(func, args, example_kwarg_inputs or {}, strict, check_trace, check_tolerance)
    return ScriptFunction(func)


def trace_module(mod: Any, inputs: Any, optimize: Any = None, check_trace: bool = True,
                 check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
                 _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
                 example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:
    """A module of which several methods are run with an example: ``{"forward": inputs, "encode": inputs}``.

    >>> import warnings; import flambeau as torch
    >>> warnings.simplefilter("ignore", DeprecationWarning)
    >>> torch.jit.trace_module(torch.nn.Tanh(), {"forward": torch.zeros(2)})(torch.zeros(1))
    tensor([0.])
    """
    warnings.warn(_DEPRECATED.format("trace_method"), DeprecationWarning)
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, Mapping):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    calls = {name: ((), given) if example_inputs_is_kwarg else (_as_tuple(given), {})
             for name, given in inputs.items()}
    return _traced_module(mod, calls, strict, check_trace, check_tolerance)


def _traced_module(module: Module, calls: Mapping[str, Any], strict: bool, check: bool,
                   tolerance: float) -> TopLevelTracedModule:
    copied = _shared_copy(module, {})
    for name, (args, kwargs) in calls.items():
        _run(copied if name == "forward" else getattr(copied, name), args, kwargs, strict, check, tolerance)
    traced = TopLevelTracedModule(copied, {})
    for name in calls:
        if name != "forward":
            traced.__dict__[name] = getattr(copied, name)
    return traced
