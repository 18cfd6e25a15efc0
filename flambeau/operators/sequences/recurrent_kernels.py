"""Loops over time on arrays: recurrent layers in one direction, and their gradients.

Note: sequences. All time steps of a layer lie one under the other as rows. A padded sequence (T, N, C) has N
rows a step; of a packed one the steps have ``sizes`` rows, never more than the step before. Step t reads and
writes the first rows of the running state, which the other sequences keep: they have ended, or in the reverse
direction not begun. The products with the input are one matrix product for all steps, and so are, in
backward, those with the weights: what is left to the loop is the product of the state.

For backward the state before each step is kept, not the one after it: so no rule is needed for where a
sequence begins. The formulas, with dh and dc the gradients of the state after a step:

    LSTM  do = dh tanh(c'), dc += dh o (1 - tanh(c')^2), di = dc g, dg = dc i, df = dc c, dc = dc f
    GRU   dn = dh (1 - z), dz = dh (h - n), dr = dn (W_hn h + b_hn), dh = dh z + ...
    both  through the functions: x (1 - x) for sigmoid, 1 - x^2 for tanh; then dh += dgates W_hh
"""

from __future__ import annotations

from typing import Any

Array = Any


def spans(rows: Array, sizes: Array | None, reverse: bool) -> list[tuple[int, int]]:
    """The first row and the number of rows of each step, in the order in which steps are computed.

    ``rows``: an operand over time, (T, N, C), (N, C) of a cell, or packed.
    """
    if sizes is not None:
        counts = [int(n) for n in sizes]
    else:
        counts = [rows.shape[-2]] * (rows.shape[0] if rows.ndim == 3 else 1)
    found, first = [], 0
    for n in counts:
        found.append((first, n))
        first += n
    return found[::-1] if reverse else found


def flat(x: Array) -> Array:
    """All steps one under the other."""
    return x.reshape(-1, x.shape[-1])


def _shaped(output: Array, input: Array) -> Array:
    """Rows in the shape of the input."""
    return output if input.ndim == 2 else output.reshape(*input.shape[:-1], output.shape[1])


def _state(m: Any, initial: Array | None, shape: tuple[int, int], like: Array) -> Array:
    """A running state of its own: a copy of the initial one, or zeros."""
    return m.zeros(shape, like.dtype) if initial is None else initial.copy()


def _projected(m: Any, x: Array, w_ih: Array, b_ih: Array | None, b_hh: Array | None) -> Array:
    bias = b_ih if b_hh is None else b_hh if b_ih is None else b_ih + b_hh
    product = m.linear(flat(x), w_ih, bias)
    return product if product.flags.writeable else product.copy()


# --- LSTM ---------------------------------------------------------------------------------------------------

def lstm(m: Any, input: Array, sizes: Array | None, h0: Array | None, c0: Array | None, w_ih: Array,
         w_hh: Array, b_ih: Array | None, b_hh: Array | None, w_hr: Array | None, batch: int, reverse: bool,
         keeps: bool) -> tuple[Array, ...]:
    """Output, last h and c, and for backward the gates i, f, g, o and the states h and c before each step."""
    cells, width = w_hh.shape[0] // 4, w_hh.shape[1]
    gates = _projected(m, input, w_ih, b_ih, b_hh)
    rows = gates.shape[0]
    h, c = _state(m, h0, (batch, width), gates), _state(m, c0, (batch, cells), gates)
    output = m.empty((rows, width), gates.dtype)
    h_before = m.empty((rows * keeps, width), gates.dtype)
    c_before = m.empty((rows * keeps, cells), gates.dtype)
    for first, n in spans(input, sizes, reverse):
        now = slice(first, first + n)
        if keeps:
            h_before[now], c_before[now] = h[:n], c[:n]
        a = gates[now]
        a += m.matmul(h[:n], w_hh.T)
        a[:, :2 * cells] = m.sigmoid(a[:, :2 * cells])
        a[:, 2 * cells:3 * cells] = m.tanh(a[:, 2 * cells:3 * cells])
        a[:, 3 * cells:] = m.sigmoid(a[:, 3 * cells:])
        i, f, g, o = _quarters(a, cells)
        c[:n] = f * c[:n] + i * g
        cell_output = o * m.tanh(c[:n])
        h[:n] = cell_output if w_hr is None else m.matmul(cell_output, w_hr.T)
        output[now] = h[:n]
    return _shaped(output, input), h, c, gates if keeps else gates[:0], h_before, c_before


def _quarters(gates: Array, cells: int) -> tuple[Array, Array, Array, Array]:
    return (gates[:, :cells], gates[:, cells:2 * cells], gates[:, 2 * cells:3 * cells], gates[:, 3 * cells:])


def lstm_backward(m: Any, grad: Array | None, grad_h: Array | None, grad_c: Array | None,
                  sizes: Array | None, gates: Array, c_before: Array, w_hh: Array, w_hr: Array | None,
                  steps: int, batch: int, reverse: bool) -> tuple[Array, ...]:
    """Gradients of the gates before their functions, of h0 and c0; with projections also what is projected
    and the gradient of the projection, for the gradient of w_hr."""
    rows, cells, width = gates.shape[0], w_hh.shape[0] // 4, w_hh.shape[1]
    dh, dc = _state(m, grad_h, (batch, width), gates), _state(m, grad_c, (batch, cells), gates)
    dgates = m.empty_like(gates)
    projected = rows * (w_hr is not None)
    cell_outputs = m.empty((projected, cells), gates.dtype)
    doutputs = m.empty((projected, width), gates.dtype)
    grads = None if grad is None else flat(grad)
    for first, n in _backward_spans(rows, sizes, steps, reverse):
        now = slice(first, first + n)
        i, f, g, o = _quarters(gates[now], cells)
        before = c_before[now]
        squashed = m.tanh(f * before + i * g)
        d = dh[:n] if grads is None else dh[:n] + grads[now]
        if w_hr is not None:
            cell_outputs[now], doutputs[now] = o * squashed, d
            d = m.matmul(d, w_hr)
        through = dc[:n] + d * o * (1 - squashed * squashed)
        di, df, dg, do = _quarters(dgates[now], cells)
        m.multiply(through * g, i * (1 - i), out=di)
        m.multiply(through * before, f * (1 - f), out=df)
        m.multiply(through * i, 1 - g * g, out=dg)
        m.multiply(d * squashed, o * (1 - o), out=do)
        dc[:n] = through * f
        dh[:n] = m.matmul(dgates[now], w_hh)
    return dgates, dh, dc, cell_outputs, doutputs


def _backward_spans(rows: int, sizes: Array | None, steps: int, reverse: bool) -> list[tuple[int, int]]:
    """As ``spans``, from the step that was computed last to the first."""
    if sizes is not None:
        return spans(None, sizes, not reverse)
    n = rows // steps
    found = [(t * n, n) for t in range(steps)]
    return found if reverse else found[::-1]


# --- GRU ----------------------------------------------------------------------------------------------------

def gru(m: Any, input: Array, sizes: Array | None, h0: Array | None, w_ih: Array, w_hh: Array,
        b_ih: Array | None, b_hh: Array | None, batch: int, reverse: bool,
        keeps: bool) -> tuple[Array, ...]:
    """Output and last h, and for backward r, z, n and W_hn h + b_hn, and the state before each step."""
    width = w_hh.shape[1]
    products = _projected(m, input, w_ih, b_ih, None)
    rows = products.shape[0]
    if h0 is not None and rows == batch and not keeps:
        *_, after = _gru_step(m, products, h0, w_hh, b_hh)     # of a cell, say
        none = m.empty((0, width), products.dtype)
        return _shaped(after.copy(), input), after, m.empty((0, 4 * width), products.dtype), none
    h = _state(m, h0, (batch, width), products)
    output = m.empty((rows, width), products.dtype)
    gates = m.empty((rows * keeps, 4 * width), products.dtype)
    h_before = m.empty((rows * keeps, width), products.dtype)
    for first, n in spans(input, sizes, reverse):
        now = slice(first, first + n)
        rz, new, lifted, after = _gru_step(m, products[now], h[:n], w_hh, b_hh)
        if keeps:
            h_before[now] = h[:n]
            a = gates[now]
            a[:, :2 * width], a[:, 2 * width:3 * width], a[:, 3 * width:] = rz, new, lifted
        h[:n] = output[now] = after
    return _shaped(output, input), h, gates, h_before


def _gru_step(m: Any, x: Array, h: Array, w_hh: Array, b_hh: Array | None) -> tuple[Array, ...]:
    """r and z, n, W_hn h + b_hn, and the state after a step."""
    width, recurrent = h.shape[1], m.linear(h, w_hh, b_hh)
    gates, lifted = m.sigmoid(x[:, :2 * width] + recurrent[:, :2 * width]), recurrent[:, 2 * width:]
    new = m.multiply(gates[:, :width], lifted)
    new += x[:, 2 * width:]
    m.tanh(new, out=new)
    after = m.subtract(h, new)
    after *= gates[:, width:]
    after += new
    return gates, new, lifted, after


def gru_backward(m: Any, grad: Array | None, grad_h: Array | None, sizes: Array | None, gates: Array,
                 h_before: Array, w_hh: Array, steps: int, batch: int, reverse: bool) -> tuple[Array, ...]:
    """Gradients of the input's products (r, z, n), of the state's products, and of h0."""
    rows, width = h_before.shape
    dh = _state(m, grad_h, (batch, width), gates)
    dx, drecurrent = m.empty((rows, 3 * width), gates.dtype), m.empty((rows, 3 * width), gates.dtype)
    grads = None if grad is None else flat(grad)
    for first, n in _backward_spans(rows, sizes, steps, reverse):
        now = slice(first, first + n)
        r, z, new, lifted = _quarters(gates[now], width)
        d = dh[:n] if grads is None else dh[:n] + grads[now]
        dnew = d * (1 - z) * (1 - new * new)
        x, recurrent = dx[now], drecurrent[now]
        m.multiply(dnew * lifted, r * (1 - r), out=x[:, :width])
        m.multiply(d * (h_before[now] - new), z * (1 - z), out=x[:, width:2 * width])
        x[:, 2 * width:] = dnew
        recurrent[:, :2 * width] = x[:, :2 * width]
        m.multiply(dnew, r, out=recurrent[:, 2 * width:])
        dh[:n] = d * z + m.matmul(recurrent, w_hh)
    return dx, drecurrent, dh


# --- plain --------------------------------------------------------------------------------------------------

def rnn(m: Any, input: Array, sizes: Array | None, h0: Array | None, w_ih: Array, w_hh: Array,
        b_ih: Array | None, b_hh: Array | None, batch: int, reverse: bool, keeps: bool,
        rectified: bool) -> tuple[Array, ...]:
    """Output and last h, and for backward the output again, which may be written to, and the state before
    each step."""
    width = w_hh.shape[1]
    output = _projected(m, input, w_ih, b_ih, b_hh)
    h = _state(m, h0, (batch, width), output)
    h_before = m.empty((output.shape[0] * keeps, width), output.dtype)
    for first, n in spans(input, sizes, reverse):
        now = slice(first, first + n)
        if keeps:
            h_before[now] = h[:n]
        a = output[now]
        a += m.matmul(h[:n], w_hh.T)
        a[...] = m.maximum(a, 0) if rectified else m.tanh(a)
        h[:n] = a
    kept = output[:output.shape[0] * keeps].copy()
    return _shaped(output, input), h, kept, h_before


def rnn_backward(m: Any, grad: Array | None, grad_h: Array | None, sizes: Array | None, outputs: Array,
                 w_hh: Array, steps: int, batch: int, reverse: bool, rectified: bool) -> tuple[Array, ...]:
    """Gradients of what tanh or relu is applied to, and of h0."""
    dh = _state(m, grad_h, (batch, w_hh.shape[1]), outputs)
    da = m.empty_like(outputs)
    grads = None if grad is None else flat(grad)
    for first, n in _backward_spans(outputs.shape[0], sizes, steps, reverse):
        now = slice(first, first + n)
        d = dh[:n] if grads is None else dh[:n] + grads[now]
        y = outputs[now]
        da[now] = m.where(y <= 0, d.dtype.type(0), d) if rectified else d * (1 - y * y)
        dh[:n] = m.matmul(da[now], w_hh)
    return da, dh
