"""record(): check an operation and put it down, computing nothing.

This is the hot path of every program: it is bare on purpose. A signature found in the table carries everything that
is the same each time (output geometry, dtype to compute in, which operands can have gradients).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..config import settings
from ..devices import META
from ..engine.look import check_budget, snapshot
from ..graph import pending
from ..graph.geometry import Geometry
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.storage import Storage
from .tape import GradFn, SavedTensor, grad_class, next_sequence, state
from .tensor import Tensor

_signatures: dict[Any, Signature] = {}
dtypes.on_default_change.append(_signatures.clear)
_LIMIT = 1 << 16

_new = object.__new__
_append = pending.nodes.append
_nodes = pending.nodes
_frame = sys._getframe
_LIBRARY = __file__.rsplit("/", 2)[0]
_is_library_file: dict[str, bool] = {}
META_NODE = constant(None)


def _site(depth: int) -> Any:
    """Code and instruction offset of the nearest caller outside the package."""
    while True:
        frame = _frame(depth)
        code = frame.f_code
        name = code.co_filename
        inside = _is_library_file.get(name)
        if inside is None:
            inside = _is_library_file[name] = name.startswith(_LIBRARY)
        if not inside or frame.f_back is None:
            return (code, frame.f_lasti)
        depth += 1


def record(operator: Operator, operands: Sequence[Any], attributes: tuple[Any, ...] = ()) -> Any:
    """Record ``operator`` applied to tensors, Python numbers and None; return its Tensor, or a tuple of them.

    Raises what PyTorch raises when shapes, dtypes or devices do not fit.
    """
    key = (operator, attributes, *[x._geometry if isinstance(x, Tensor) else x.__class__ for x in operands])
    signature = _signatures.get(key)
    if signature is None:
        signature = _sign(operator, key, attributes)
    inputs: list[Any] = []
    wants_grad = False
    for x in operands:
        if isinstance(x, Tensor):
            storage = x._storage
            inputs.append(snapshot(storage) if storage.exposed else storage.node)
            if x._requires_grad or (x._base is not None and x._base._requires_grad and x.requires_grad):
                wants_grad = True
        else:
            inputs.append(x)
    geometries = signature.outputs
    if geometries and geometries[0].device is META:
        node = META_NODE
    else:
        node = Node(signature, tuple(inputs), _site(2))
        _append(node)
    if signature.single:
        geometry = geometries[0]
        out = _new(Tensor)
        out._storage = Storage(node, geometry)
        out._geometry = geometry
        if wants_grad and state.enabled:
            attach(operator, signature, operands, (out,))
        if len(_nodes) > settings.check_at:
            check_budget()
        return out
    outs = tuple([_project(node, i, geometry) for i, geometry in enumerate(geometries)])
    if wants_grad and state.enabled:
        attach(operator, signature, operands, outs)
    if len(_nodes) > settings.check_at:
        check_budget()
    return outs


PROJECT = Operator("project", lambda m, x, i: x[i], lambda geometries, attributes: (), ("input",), kind="project")
_projections: dict[tuple[int, Geometry], Signature] = {}


def _project(node: Node, i: int, geometry: Geometry) -> Tensor:
    """The i-th result of an operator with several."""
    out = _new(Tensor)
    if node is not META_NODE:
        signature = _projections.get((i, geometry))
        if signature is None:
            signature = _projections[i, geometry] = Signature(PROJECT, (i,), (None,), (geometry,), True, None)
        node = Node(signature, (node,), node.site)
        _append(node)
    out._storage = Storage(node, geometry)
    out._geometry = geometry
    return out


def _sign(operator: Operator, key: tuple[Any, ...], attributes: tuple[Any, ...]) -> Signature:
    """Check the operands and make the signature; errors are not remembered."""
    geometries = key[2:]
    check_devices(operator, geometries)
    outputs = operator.infer(geometries, attributes)
    single = isinstance(outputs, Geometry)
    compute = operator.compute(geometries) if operator.compute is not None else None
    signature = Signature(operator, attributes, geometries, (outputs,) if single else tuple(outputs), single, compute)
    if len(_signatures) > _LIMIT:
        _signatures.clear()
    _signatures[key] = signature
    return signature


def check_devices(operator: Operator, geometries: Sequence[Any]) -> None:
    """All tensors on one device, but for 0-dim tensors of the CPU."""
    found = None
    for g in geometries:
        if isinstance(g, Geometry):
            if found is None or (found.ndim == 0 and found.device is not g.device):
                found = g
            elif g.device is not found.device and g.ndim > 0:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{found.device} and {g.device}!"
                )


# --- the tape -------------------------------------------------------------------------------------------------------

def attach(operator: Operator, signature: Signature, operands: Sequence[Any], outs: tuple[Tensor, ...]) -> None:
    """Give the results of a differentiable operator their grad_fn."""
    if not operator.differentiable:
        return
    needs = tuple([isinstance(x, Tensor) and (x._requires_grad or (x._base is not None and x.requires_grad))
                   for x in operands])
    plan = operator.plans.get(needs)
    if plan is None:
        plan = operator.plans[needs] = _plan(operator, needs)
    if plan is _NO_GRADIENT:
        return
    kept_inputs, kept_outputs = plan
    cls = operator.grad_class
    if cls.__class__ is str:
        cls = operator.grad_class = grad_class(cls)
    fn: GradFn = _new(cls)
    fn.sequence = next_sequence()
    fn.signature = signature
    fn.numbers = tuple([None if isinstance(x, Tensor) else x for x in operands])
    fn.needs = needs
    fn.hooks = fn.trace = None
    fn.edges = tuple([edge(x) if wanted else None for x, wanted in zip(operands, needs)])
    differentiable = False
    for i, out in enumerate(outs):
        if signature.outputs[i].dtype.category >= dtypes.FLOATING and i not in operator.non_differentiable_outputs:
            out._grad_fn = fn
            out._requires_grad = True
            differentiable = True
            if i:
                out._output_nr = i
    if not differentiable:
        return
    saved: dict[int, SavedTensor] = {}
    for i in kept_inputs:
        x = operands[i]
        if isinstance(x, Tensor):
            saved[i] = save(x)
    for i in kept_outputs:
        saved[i] = save(detached(outs[~i]), is_output=True)
    fn.saved = saved
    if state.anomaly:
        fn.trace = _stack()


_NO_GRADIENT: Any = (None, None)


def _plan(operator: Operator, needs: tuple[bool, ...]) -> Any:
    """Which operands and outputs the rules for these operands keep."""
    if operator.variadic_derivative is not None:
        return (), ()
    inputs: list[int] = []
    outputs: list[int] = []
    wanted = False
    for d in operator.derivatives:
        if any(needs[i] for i in d.operands):
            wanted = True
            for kept in d.keeps:
                target = inputs if kept >= 0 else outputs
                if kept not in target:
                    target.append(kept)
    return (tuple(inputs), tuple(outputs)) if wanted else _NO_GRADIENT


def edge(x: Tensor) -> Any:
    """Where the gradient of x goes (Note: edges)."""
    fn = x._grad_fn if x._base is None else x.grad_fn
    if fn is None:
        return x
    return (fn, x._output_nr) if x._output_nr else fn


def detached(x: Tensor) -> Tensor:
    """A handle on the same storage, without history."""
    out = _new(Tensor)
    out._storage = x._storage
    out._geometry = x._geometry
    return out


def save(x: Tensor, is_output: bool = False) -> SavedTensor:
    """Keep x for backward, through the hooks in force."""
    if state.saved_hooks:
        pack, unpack = state.saved_hooks[-1]
        fn, state.enabled = state.enabled, False
        try:
            return SavedTensor(pack(x), -1, unpack, is_output)
        finally:
            state.enabled = fn
    counter = x._counter
    return SavedTensor(x, x._storage.version if counter is None else counter.version, None, is_output)


def _stack() -> Any:
    import traceback
    return [f for f in traceback.extract_stack() if not f.filename.startswith(_LIBRARY)]
