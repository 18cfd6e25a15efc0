"""A recurrent layer in one direction as one operator, and its gradient as another.

The operators take the input (T, N, C) of padded sequences, (N, C) of a single step, or the rows of packed
ones together with the number of rows of each step (Note: sequences). An absent initial state is zero. What
backward needs of the steps is a result that is only there if ``keeps``.

Backward computes the gradients of all gates in one operator; those of weights, biases and input follow from
them by ordinary matrix products over all steps at once. When the gradient is to be differentiated again, it
is taken of the layer written out step by step instead.
"""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_pair
from ...tensor.tape import state
from ..declaration.definition import arithmetic_dtype, broadcast_shapes, operator
from ..declaration.prices import backward_steps, stepwise
from ..products.linear import linear_geometry
from ..products.matmul import MM
from ..products.operands import rows_of
from ..shapes.shape import reshape
from . import recurrent_kernels as kernels
from .recurrent_steps import Step, gru_step, lstm_step, relu_step, tanh_step, unrolled


def _layer_geometry(operands: Any, hidden: int) -> Any:
    """Check a layer's operands; the geometry of a state, and of the rows of all steps, by their widths."""
    x, sizes, h0 = operands[:3]
    w_ih, w_hh, b_ih, b_hh = operands[2 + hidden:6 + hidden]
    projected = linear_geometry((x, w_ih, b_ih), ())
    batch = h0.shape[0] if isinstance(h0, Geometry) else x.shape[-2]
    if isinstance(h0, Geometry):
        linear_geometry((h0, w_hh, b_hh), ())
        if not isinstance(sizes, Geometry) and batch != x.shape[-2]:
            raise RuntimeError(f"The size of tensor a ({batch}) must match the size of tensor b "
                               f"({x.shape[-2]}) at non-singleton dimension 0")
    if projected.shape[-1] != w_hh.shape[0]:
        raise RuntimeError(f"The size of tensor a ({projected.shape[-1]}) must match the size of tensor b "
                           f"({w_hh.shape[0]}) at non-singleton dimension {projected.ndim - 1}")
    rows = rows_of(x.shape)
    kept = arithmetic_dtype(x.dtype)
    return (lambda width: contiguous((batch, width), x.dtype, x.device),
            lambda width: contiguous((*x.shape[:-1], width), x.dtype, x.device),
            lambda width, there: contiguous((rows * there, width), kept, x.device))


def _weight_dtype(operands: Any) -> Any:
    """The type in which kernels compute; the number of rows of a step is read in it as well."""
    return arithmetic_dtype(next(g for g in reversed(operands) if isinstance(g, Geometry)).dtype)


def _batch(state: Any) -> int:
    return state.shape[0]


# --- LSTM ---------------------------------------------------------------------------------------------------

def _lstm_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    w_hh, w_hr = operands[5], operands[8]
    state_of, output_of, kept = _layer_geometry(operands, 2)
    keeps, width, cells = attributes[1], w_hh.shape[1], w_hh.shape[0] // 4
    if width != (w_hr.shape[0] if isinstance(w_hr, Geometry) else cells):
        raise RuntimeError(f"The size of tensor a ({cells}) must match the size of tensor b ({width}) at "
                           "non-singleton dimension 1")
    state = state_of(cells)
    if isinstance(operands[3], Geometry) and operands[3].shape != state.shape:
        broadcast_shapes([operands[3].shape, state.shape])
        raise RuntimeError(f"Expected a cell state of size {list(state.shape)}, got "
                           f"{list(operands[3].shape)}")
    return (output_of(width), state_of(width), state_of(cells), kept(4 * cells, keeps), kept(width, keeps),
            kept(cells, keeps))


def _lstm_kernel(m: Any, input: Any, sizes: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any,
                 w_hr: Any, reverse: bool, keeps: bool) -> Any:
    batch = _batch(h0) if h0 is not None else input.shape[-2]
    return kernels.lstm(m, input, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, batch, reverse, keeps)


def _lstm_backward_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    gates, before, w_hh, w_hr = operands[4:]
    _, batch, _ = attributes
    cells, width = before.shape[1], w_hh.shape[1]
    projected = gates.shape[0] if isinstance(w_hr, Geometry) else 0
    return tuple(contiguous(shape, w_hh.dtype, w_hh.device) for shape in (
        gates.shape, (batch, width), (batch, cells), (projected, cells), (projected, width)))


LSTM_BACKWARD = operator("lstm_sequence_backward", _lstm_backward_geometry,
                         compute=_weight_dtype, price=backward_steps)(kernels.lstm_backward)
_LSTM_OPERANDS = ("input", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr")


def _lstm_gradients(ctx: Any, grads: Any, input: Tensor, sizes: Any, h0: Any, c0: Any, w_ih: Tensor,
                    w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Any, gates: Tensor, h_before: Tensor,
                    c_before: Tensor) -> Any:
    if state.enabled:
        return _through_steps(lstm_step, ctx, grads[:3], input, sizes, (h0, c0),
                              (w_ih, w_hh, b_ih, b_hh, w_hr))
    steps, batch = _extents(input, sizes, h0)
    grad, grad_h, grad_c = map(_readable, grads[:3])
    dgates, dh, dc, cell_outputs, doutputs = record(
        LSTM_BACKWARD, (grad, grad_h, grad_c, sizes, gates, c_before, w_hh, w_hr),
        (steps, batch, ctx.attributes[0]))
    needs = ctx.needs
    return (_input_gradient(dgates, w_ih, input) if needs[0] else None, dh, dc,
            _weight_gradient(dgates, input) if needs[4] else None,
            _weight_gradient(dgates, h_before) if needs[5] else None,
            *_bias_gradients(dgates, needs[6], needs[7]),
            _weight_gradient(doutputs, cell_outputs) if needs[8] else None)


def _lstm(grad_name: str) -> Operator:
    made = operator("lstm_sequence", _lstm_geometry, compute=_weight_dtype, grad_name=grad_name,
                    non_differentiable_outputs=(3, 4, 5), price=stepwise)(_lstm_kernel)
    made.derivative(*_LSTM_OPERANDS, keeps="input sizes h0 c0 w_ih w_hh b_ih b_hh w_hr "
                                           "output3 output4 output5")(_lstm_gradients)
    return made


# --- GRU ----------------------------------------------------------------------------------------------------

def _gru_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    state_of, output_of, kept = _layer_geometry(operands, 1)
    keeps, width = attributes[1], operands[4].shape[1]
    return output_of(width), state_of(width), kept(4 * width, keeps), kept(width, keeps)


def _gru_kernel(m: Any, input: Any, sizes: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any,
                reverse: bool, keeps: bool) -> Any:
    batch = _batch(h0) if h0 is not None else input.shape[-2]
    return kernels.gru(m, input, sizes, h0, w_ih, w_hh, b_ih, b_hh, batch, reverse, keeps)


def _gru_backward_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    before, w_hh = operands[4:]
    _, batch, _ = attributes
    rows, width = before.shape
    return tuple(contiguous(shape, w_hh.dtype, w_hh.device)
                 for shape in ((rows, 3 * width), (rows, 3 * width), (batch, width)))


GRU_BACKWARD = operator("gru_sequence_backward", _gru_backward_geometry,
                        compute=_weight_dtype, price=backward_steps)(kernels.gru_backward)
_ONE_STATE_OPERANDS = ("input", "h0", "w_ih", "w_hh", "b_ih", "b_hh")


def _gru_gradients(ctx: Any, grads: Any, input: Tensor, sizes: Any, h0: Any, w_ih: Tensor, w_hh: Tensor,
                   b_ih: Any, b_hh: Any, gates: Tensor, h_before: Tensor) -> Any:
    if state.enabled:
        return _through_steps(gru_step, ctx, grads[:2], input, sizes, (h0,), (w_ih, w_hh, b_ih, b_hh, None))
    steps, batch = _extents(input, sizes, h0)
    grad, grad_h = map(_readable, grads[:2])
    dx, drecurrent, dh = record(GRU_BACKWARD, (grad, grad_h, sizes, gates, h_before, w_hh),
                                (steps, batch, ctx.attributes[0]))
    needs = ctx.needs
    return (_input_gradient(dx, w_ih, input) if needs[0] else None, dh,
            _weight_gradient(dx, input) if needs[3] else None,
            _weight_gradient(drecurrent, h_before) if needs[4] else None,
            dx.sum(0) if needs[5] else None, drecurrent.sum(0) if needs[6] else None)


def _gru(grad_name: str) -> Operator:
    made = operator("gru_sequence", _gru_geometry, compute=_weight_dtype, grad_name=grad_name,
                    non_differentiable_outputs=(2, 3), price=stepwise)(_gru_kernel)
    made.derivative(*_ONE_STATE_OPERANDS,
                    keeps="input sizes h0 w_ih w_hh b_ih b_hh output2 output3")(_gru_gradients)
    return made


# --- plain --------------------------------------------------------------------------------------------------

def _rnn_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    state_of, output_of, kept = _layer_geometry(operands, 1)
    keeps, width = attributes[1], operands[4].shape[1]
    return output_of(width), state_of(width), kept(width, keeps), kept(width, keeps)


def _rnn_kernel(m: Any, input: Any, sizes: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any,
                reverse: bool, keeps: bool, rectified: bool) -> Any:
    batch = _batch(h0) if h0 is not None else input.shape[-2]
    return kernels.rnn(m, input, sizes, h0, w_ih, w_hh, b_ih, b_hh, batch, reverse, keeps, rectified)


def _rnn_backward_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    outputs, w_hh = operands[3:]
    width = w_hh.shape[1]
    return (contiguous(outputs.shape, w_hh.dtype, w_hh.device),
            contiguous((attributes[1], width), w_hh.dtype, w_hh.device))


RNN_BACKWARD = operator("rnn_sequence_backward", _rnn_backward_geometry,
                        compute=_weight_dtype, price=backward_steps)(kernels.rnn_backward)


def _rnn_gradients(ctx: Any, grads: Any, input: Tensor, sizes: Any, h0: Any, w_ih: Tensor, w_hh: Tensor,
                   b_ih: Any, b_hh: Any, outputs: Tensor, h_before: Tensor) -> Any:
    reverse, _, rectified = ctx.attributes
    if state.enabled:
        return _through_steps(relu_step if rectified else tanh_step, ctx, grads[:2], input, sizes, (h0,),
                              (w_ih, w_hh, b_ih, b_hh, None))
    steps, batch = _extents(input, sizes, h0)
    grad, grad_h = map(_readable, grads[:2])
    da, dh = record(RNN_BACKWARD, (grad, grad_h, sizes, outputs, w_hh),
                    (steps, batch, reverse, rectified))
    needs = ctx.needs
    return (_input_gradient(da, w_ih, input) if needs[0] else None, dh,
            _weight_gradient(da, input) if needs[3] else None,
            _weight_gradient(da, h_before) if needs[4] else None,
            *_bias_gradients(da, needs[5], needs[6]))


def _rnn(grad_name: str) -> Operator:
    made = operator("rnn_sequence", _rnn_geometry, compute=_weight_dtype, grad_name=grad_name,
                    non_differentiable_outputs=(2, 3), price=stepwise)(_rnn_kernel)
    made.derivative(*_ONE_STATE_OPERANDS,
                    keeps="input sizes h0 w_ih w_hh b_ih b_hh output2 output3")(_rnn_gradients)
    return made


# --- gradients ----------------------------------------------------------------------------------------------

def _extents(input: Tensor, sizes: Any, h0: Any) -> tuple[int, int]:
    """The number of steps (of packed ones it is that of ``sizes``) and of sequences."""
    shape = input.shape
    batch = shape[-2] if h0 is None else h0.shape[0]
    return (0 if sizes is not None else shape[0] if len(shape) == 3 else 1), batch


def _readable(grad: Any) -> Any:
    """A gradient whose rows lie in memory without gaps, as kernels want it."""
    return grad if grad is None or grad._geometry.strides[-1] == 1 else grad.contiguous()


def _as_rows(x: Tensor) -> Tensor:
    return x if x._geometry.ndim == 2 else reshape(x, rows_of(x.shape), x.shape[-1])


def _input_gradient(dgates: Tensor, w_ih: Tensor, input: Tensor) -> Any:
    return reshape(record_pair(MM, dgates, w_ih), *input.shape)


def _weight_gradient(dgates: Tensor, factor: Tensor) -> Any:
    factor = _as_rows(factor)
    if factor.dtype is not dgates.dtype:
        factor = factor.to(dgates.dtype)
    return record(MM, (dgates.t(), factor))


def _bias_gradients(dgates: Tensor, first: bool, second: bool) -> tuple[Any, Any]:
    """The equal gradients of the two biases, of which one copy costs nothing."""
    if not first and not second:
        return None, None
    total = dgates.sum(0)
    return total, total.clone() if first and second else total


def _through_steps(step: Step, ctx: Any, grads: Any, input: Tensor, sizes: Any, hidden: tuple[Any, ...],
                   weights: tuple[Any, ...]) -> list[Any]:
    """Gradients that can be differentiated: of the layer written out in elementary operators.

    The operands are replaced by views of themselves, for one of them may have been made from another.
    """
    from ...autograd import grad as gradients_of  # autograd is made of operators
    operands = [input, *hidden, *weights]
    fresh = [x.view_as(x) if isinstance(x, Tensor) else x for x in operands]
    states = 1 + len(hidden)
    counts = None if sizes is None else [int(n) for n in sizes.tolist()]
    output, last = unrolled(step, fresh[0], counts, tuple(fresh[1:states]), fresh[states:], ctx.attributes[0])
    pairs = [(out, g) for out, g in zip((output, *last), grads) if g is not None]
    needs = [ctx.needs[0], *ctx.needs[2:]]
    needs += [False] * (len(fresh) - len(needs))
    wanted = [x for x, need in zip(fresh, needs) if need]
    found = iter(gradients_of([out for out, _ in pairs], wanted, [g for _, g in pairs], create_graph=True,
                              allow_unused=True))
    return [next(found) if need else None for need in needs[:len(ctx.needs) - 1]]


# The layers' grad_fns have PyTorch's names: those of how it computes them.
LSTM_FUSED = _lstm("MkldnnRnnLayerBackward0")
LSTM_PADDED, GRU_PADDED, RNN_PADDED = _lstm("StackBackward0"), _gru("StackBackward0"), _rnn("StackBackward0")
LSTM_PACKED, GRU_PACKED, RNN_PACKED = _lstm("CatBackward0"), _gru("CatBackward0"), _rnn("CatBackward0")
LSTM_CELL, GRU_CELL = _lstm("MulBackward0"), _gru("AddBackward0")
TANH_CELL, RELU_CELL = _rnn("TanhBackward0"), _rnn("ReluBackward0")
