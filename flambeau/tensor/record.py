"""record(): check an operation and put it down, computing nothing.

This is the hot path of every program: it is bare on purpose. A signature found in the table carries
everything that is the same each time (output geometry, dtype to compute in, which operands can have
gradients).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..config import settings
from ..engine.look import check_budget, snapshot
from ..graph import pending
from ..graph.geometry import Geometry
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.storage import Storage
from .tape import GradFn, SavedTensor, TapePlan, grad_class, next_sequence, state
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
    if state.site is not None:
        return state.site
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
    key: list[Any] = [operator, attributes]
    inputs: list[Any] = []
    wants_grad = False
    for x in operands:
        if isinstance(x, Tensor):
            key.append(x._geometry)
            storage = x._storage
            inputs.append(snapshot(storage) if storage.exposed else storage.node)
            if x._requires_grad or (x._base is not None and x._base._requires_grad and x.requires_grad):
                wants_grad = True
        else:
            key.append(x.__class__)
            inputs.append(x)
    found = tuple(key)
    signature = _signatures.get(found)
    if signature is None:
        signature = _sign(operator, found, attributes)
    geometries = signature.outputs
    if signature.on_meta:
        node = META_NODE
    else:
        frame = _frame(2)
        code = frame.f_code
        if _is_library_file.get(code.co_filename, True):
            node = Node(signature, tuple(inputs), _site(2))
        else:
            node = Node(signature, tuple(inputs), (code, frame.f_lasti))
        _append(node)
    if signature.single:
        out = _new(Tensor)
        out._geometry = geometry = geometries[0]
        out._storage = Storage(node, geometry)
        if wants_grad and state.enabled:
            attach(operator, signature, operands, (out,))
        elif state.inference:
            out._inference = True
        if len(_nodes) > settings.check_at:
            check_budget()
        return out
    outs = tuple([_project(node, i, geometry) for i, geometry in enumerate(geometries)])
    if wants_grad and state.enabled:
        attach(operator, signature, operands, outs)
    if len(_nodes) > settings.check_at:
        check_budget()
    return outs


def record_pair(operator: Operator, a: Tensor, b: Tensor) -> Tensor:
    """``record`` for the commonest case, two tensors and one result: the same, unrolled."""
    key = (operator, a._geometry, b._geometry)
    signature = _signatures.get(key)
    if signature is None:
        signature = _sign(operator, (operator, (), a._geometry, b._geometry), ())
        _signatures[key] = signature
    if signature.on_meta:
        return record(operator, (a, b))
    storage, other = a._storage, b._storage
    frame = _frame(2)
    code = frame.f_code
    node = Node(signature, (snapshot(storage) if storage.exposed else storage.node,
                            snapshot(other) if other.exposed else other.node),
                _site(2) if _is_library_file.get(code.co_filename, True) else (code, frame.f_lasti))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    if (a._requires_grad or b._requires_grad or (a._base is not None and a.requires_grad)
            or (b._base is not None and b.requires_grad)):
        if state.enabled:
            attach(operator, signature, (a, b), (out,))
    elif state.inference:
        out._inference = True
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


PROJECT = Operator("project", lambda m, x, i: x[i], lambda geometries, attributes: (), ("input",),
                   kind="project")
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
    several = (outputs,) if isinstance(outputs, Geometry) else tuple(outputs)
    signature = Signature(operator, attributes, geometries, several, single, compute)
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


# --- the tape -----------------------------------------------------------------------------------------------

def attach(operator: Operator, signature: Signature, operands: Sequence[Any],
           outs: tuple[Tensor, ...]) -> None:
    """Give the results of a differentiable operator their grad_fn."""
    needs: list[bool] = []
    edges: list[Any] = []
    numbers = None
    for x in operands:
        if isinstance(x, Tensor):
            if x._base is not None:
                wanted = operator.differentiable and x.requires_grad
                edges.append(edge(x) if wanted else None)
            elif x._requires_grad:
                wanted = True
                fn = x._grad_fn
                edges.append(x if fn is None else (fn, x._output_nr) if x._output_nr else fn)
            else:
                wanted = False
                edges.append(None)
            needs.append(wanted)
        else:
            needs.append(False)
            edges.append(None)
            numbers = operands
    found = tuple(needs)
    plan = signature.tape_plans.get(found)
    if plan is None:
        plan = signature.tape_plans[found] = _tape_plan(signature, found)
    if plan is _NO_GRADIENT:
        return
    cls = operator.grad_class
    if cls.__class__ is str:
        cls = operator.grad_class = grad_class(cls)
    made: GradFn = _new(cls)
    made.sequence = next_sequence()
    made.signature = signature
    made.plan = plan
    made.numbers = numbers
    made.hooks = made.trace = None
    made.edges = tuple(edges)
    if signature.single:
        outs[0]._grad_fn = made
        outs[0]._requires_grad = True
    elif not _attach_several(operator, signature, outs, made):
        return
    saved: dict[int, Any] = {}
    if state.saved_hooks:
        for i in plan.inputs:
            if isinstance(operands[i], Tensor):
                saved[i] = save(operands[i])
    else:
        for i in plan.inputs:
            x = operands[i]
            if isinstance(x, Tensor):
                counter = x._counter
                saved[i] = (x, x._storage.version if counter is None else counter.version)
    for i in plan.outputs:
        saved[i] = save(detached(outs[~i]), is_output=True)
    made.saved = saved
    if numbers is not None:
        made.numbers = tuple([None if isinstance(x, Tensor) else x for x in operands])
    if state.anomaly:
        made.trace = _stack()


def _attach_several(operator: Operator, signature: Signature, outs: tuple[Tensor, ...], fn: GradFn) -> bool:
    """Give several results their history; false when none of them can have one."""
    differentiable = False
    for i, out in enumerate(outs):
        if signature.outputs[i].dtype.category >= dtypes.FLOATING \
                and i not in operator.non_differentiable_outputs:
            out._grad_fn = fn
            out._requires_grad = True
            differentiable = True
            if i:
                out._output_nr = i
    return differentiable


_NO_GRADIENT: Any = TapePlan((), (), ())


def _tape_plan(signature: Signature, needs: tuple[bool, ...]) -> TapePlan:
    """Which operands and outputs the rules for these operands keep."""
    operator = signature.operator
    if signature.single and signature.outputs[0].dtype.category < dtypes.FLOATING:
        return _NO_GRADIENT
    if operator.variadic_derivative is not None:
        return TapePlan(needs, (), ())
    kept: list[int] = []
    wanted = False
    for d in operator.derivatives:
        if any(needs[i] for i in d.operands):
            wanted = True
            kept += [k for k in d.keeps if k not in kept]
    if not wanted:
        return _NO_GRADIENT
    return TapePlan(needs, tuple([k for k in kept if k >= 0]), tuple([k for k in kept if k < 0]))


def edge(x: Tensor) -> Any:
    """Where the gradient of x goes (Note: edges)."""
    fn = x._grad_fn if x._base is None else x.grad_fn
    if fn is None:  # a view made without recording lets no gradient through
        return x if x._base is None or x._requires_grad else None
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
