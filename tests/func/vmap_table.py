"""Calls that vmap is tried on: a name, the function of one example, and the shapes (or kinds) of its inputs.

A shape alone is of random numbers; ``("int", n, shape)`` are integers below n, ``("bool", shape)`` truth
values, ``("positive", shape)`` numbers between 0.1 and 0.9, ``("matrix", n)`` is a positive definite matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Row = tuple[str, Callable[..., Any], tuple[Any, ...]]

UNARY = """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv
    exp exp2 expm1 floor frac isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit neg
    positive rad2deg reciprocal relu round rsqrt selu sgn sigmoid sign signbit sin sinc sinh sqrt square
    tan tanh trunc nan_to_num clone flatten ravel sum mean prod std var amax amin argmax argmin all any
    max min median logsumexp count_nonzero t tril triu diag diagonal fliplr flipud rot90 cumsum cumprod
""".split()
BINARY = """
    add sub mul div true_divide floor_divide remainder fmod pow atan2 hypot maximum minimum fmax fmin eq
    ne lt le gt ge logaddexp logaddexp2 copysign nextafter xlogy heaviside logical_and logical_or
    logical_xor isclose
""".split()
LOSSES = """
    mse_loss l1_loss smooth_l1_loss huber_loss kl_div soft_margin_loss
""".split()
ACTIVATIONS = """
    elu celu gelu silu mish softplus softsign hardtanh hardswish hardsigmoid leaky_relu logsigmoid relu6
    tanhshrink softshrink hardshrink
""".split()
_NEEDS_DIM = {"logsumexp": 0, "cumsum": 0, "cumprod": 0}
_KINDS: dict[str, Any] = {"bitwise_not": ("int", 9, (2, 3)), "acosh": (2, 3)}


def rows(torch: Any) -> Iterator[Row]:
    """All rows of the table."""
    f = torch.nn.functional
    for name in UNARY:
        function = getattr(torch, name)
        if name in _NEEDS_DIM:
            yield name, lambda x, g=function: g(x, 0), ((2, 3),)
        else:
            yield name, function, (_KINDS.get(name, ("positive", (2, 3))),)
    for name in BINARY:
        yield name, getattr(torch, name), (("positive", (2, 3)), ("positive", (3,)))
        yield f"{name} of a scalar", getattr(torch, name), (("positive", (2, 3)), ("positive", ()))
    for name in LOSSES:
        yield name, getattr(f, name), (("positive", (2, 3)), ("positive", (2, 3)))
    for name in ACTIVATIONS:
        yield name, getattr(f, name), ((2, 3),)
    yield from _structured(torch)
    yield from _views(torch)
    yield from _indices(torch)
    yield from _layers(torch)
    yield from _linalg(torch)


def _structured(torch: Any) -> Iterator[Row]:
    f = torch.nn.functional
    for dim in (0, -1, (0, 1)):
        yield f"sum {dim}", lambda x, d=dim: x.sum(d), ((2, 3),)
        yield f"mean keepdim {dim}", lambda x, d=dim: x.mean(d, keepdim=True), ((2, 3),)
        yield f"norm {dim}", lambda x, d=dim: torch.linalg.vector_norm(x, 3, d), ((2, 3),)
        yield f"var_mean {dim}", lambda x, d=dim: torch.var_mean(x, d), ((2, 3),)
    for dim in (0, -1):
        for name in ("softmax", "log_softmax", "max", "min", "sort", "cummax", "mode", "median", "argsort",
                     "prod", "logcumsumexp", "unbind"):
            yield f"{name} {dim}", lambda x, g=getattr(torch, name), d=dim: g(x, d), ((2, 3),)
    yield "kthvalue", lambda x: x.kthvalue(2), ((2, 3),)
    yield "topk", lambda x: x.topk(2), ((2, 3),)
    yield "cat", lambda x, y: torch.cat([x, y], 1), ((2, 3), (2, 1))
    yield "stack", lambda x, y: torch.stack([x, y], -1), ((2, 3), (2, 3))
    yield "where", torch.where, (("bool", (3,)), (2, 3), ())
    yield "masked_fill", lambda x, m: x.masked_fill(m, -1.0), ((2, 3), ("bool", (3,)))
    yield "lerp", torch.lerp, ((2, 3), (3,), ())
    yield "addcmul", torch.addcmul, ((2, 3), (3,), (2, 1))
    yield "clamp", lambda x: x.clamp(-0.5, 0.5), ((2, 3),)
    yield "outer", torch.outer, ((2,), (3,))
    yield "einsum", lambda x, y: torch.einsum("ij,jk->ik", x, y), ((2, 3), (3, 2))
    yield "fft", lambda x: torch.view_as_real(torch.fft.fft(x)), ((4,),)
    yield "rfft2", lambda x: torch.fft.rfft2(x).abs(), ((2, 4),)
    yield "roll", lambda x: x.roll(1, 1), ((2, 3),)
    yield "flip", lambda x: x.flip(0, 1), ((2, 3),)
    yield "repeat", lambda x: x.repeat(2, 1, 2), ((2, 3),)
    yield "tile", lambda x: x.tile(2), ((2, 3),)
    yield "diag_embed", lambda x: x.diag_embed(), ((3,),)
    yield "cdist", torch.cdist, ((4, 3), (2, 3))
    yield "cross", lambda x, y: torch.linalg.cross(x, y), ((2, 3), (2, 3))
    yield "searchsorted", torch.searchsorted, (("positive", (1,)), ("positive", (3,)))
    yield "quantile", lambda x: x.quantile(0.5, 0), ((4, 3),)
    yield "to double", lambda x: x.double(), ((3,),)
    yield "scalar promotion", lambda x, y: x + y.double(), ((2, 3), ())
    yield "in place", lambda x, y: x.clone().mul_(y).add_(1), ((2, 3), (3,))
    ends = torch.tensor([0, 2])
    yield "histc", lambda x: torch.histc(x, 4, 0, 1), (("positive", (9,)),)
    yield "histogram", lambda x: tuple(torch.histogram(x, 4, range=(0.0, 1.0))), (("positive", (9,)),)
    yield "bincount", lambda x: torch.bincount(x, minlength=7), (("int", 7, (9,)),)
    yield "embedding_bag", lambda i, w: f.embedding_bag(i, w, ends), (("int", 4, (5,)), (4, 3))
    yield "segment_reduce", lambda x: torch.segment_reduce(x, "max", lengths=ends + 1), ((4, 2),)
    yield "masked_scatter", torch.masked_scatter, ((2, 3), ("bool", (2, 3)), (6,))
    yield "nonzero_static", lambda x: torch.nonzero_static(x, size=6), (("bool", (2, 3)),)
    yield "linspace", lambda x, y: torch.linspace(x, y, 4), ((), ())
    yield "cov", lambda x, w: torch.cov(x, fweights=w), ((2, 4), ("int", 4, (4,)))
    yield "shared tensor", lambda x: x @ torch.ones(3, 2) + torch.arange(2), ((2, 3),)


def _views(torch: Any) -> Iterator[Row]:
    yield "transpose", lambda x: x.transpose(0, 1), ((2, 3),)
    yield "permute", lambda x: x.permute(2, 0, 1), ((2, 3, 4),)
    yield "view", lambda x: x.view(3, 2), ((2, 3),)
    yield "reshape of a transpose", lambda x: x.t().reshape(-1), ((2, 3),)
    yield "unsqueeze", lambda x: x.unsqueeze(-1), ((2, 3),)
    yield "squeeze", lambda x: x.squeeze(), ((2, 1),)
    yield "expand", lambda x: x.expand(4, 2, 3), ((2, 3),)
    yield "select", lambda x: x[-1], ((2, 3),)
    yield "slices", lambda x: x[:, 1:, None, ::2], ((2, 3, 4),)
    yield "split", lambda x: x.split(2, 1), ((2, 3),)
    yield "chunk", lambda x: x.chunk(2), ((4,),)
    yield "unfold", lambda x: x.unfold(0, 2, 1), ((4,),)
    yield "movedim", lambda x: x.movedim(0, -1), ((2, 3, 4),)
    yield "complex views", lambda x: torch.view_as_real(torch.view_as_complex(x) * 1j), ((3, 2),)
    yield "written view", _written_view, ((3, 3),)


def _written_view(x: Any) -> Any:
    y = x.clone()
    y[0] = 2.0
    y[1:, 1] *= 3
    y.diagonal().zero_()
    return y


def _indices(torch: Any) -> Iterator[Row]:
    small = ("int", 2, (2, 3))
    yield "gather", lambda x, i: x.gather(0, i), ((2, 3), small)
    yield "scatter", lambda x, i, y: x.scatter(0, i, y), ((2, 3), small, (2, 3))
    yield "scatter_add", lambda x, i, y: x.scatter_add(0, i, y), ((2, 3), small, (2, 3))
    yield "index_select", lambda x, i: x.index_select(1, i), ((2, 3), ("int", 3, (4,)))
    yield "index_add", lambda x, i, y: x.index_add(0, i, y), ((3, 2), ("int", 3, (4,)), (4, 2))
    yield "take", torch.take, ((2, 3), ("int", 6, (4,)))
    yield "take_along_dim", lambda x, i: torch.take_along_dim(x, i, 0), ((2, 3), small)
    yield "x[i]", lambda x, i: x[i], ((3, 2), ("int", 3, (4,)))
    yield "x[:, i]", lambda x, i: x[:, i], ((2, 3, 4), ("int", 3, (2, 2)))
    yield "x[i, :, j]", lambda x, i, j: x[i, :, j], ((3, 2, 4), ("int", 3, (2,)), ("int", 4, (2,)))
    yield "x[[0, 2]]", lambda x: x[[0, 2]], ((3, 2),)
    yield "x[i] = y", _put, ((3, 2), ("int", 3, (1,)), (2,))
    yield "index_put", lambda x, i, y: x.index_put((i,), y, accumulate=True), \
        ((3, 2), ("int", 3, (4,)), (4, 2))
    yield "embedding", torch.nn.functional.embedding, (("int", 5, (4,)), (5, 3))
    yield "one_hot", lambda i: torch.nn.functional.one_hot(i, 5), (("int", 5, (4,)),)


def _put(x: Any, i: Any, y: Any) -> Any:
    x = x.clone()
    x[i] = y
    return x


def _layers(torch: Any) -> Iterator[Row]:
    f = torch.nn.functional
    yield "linear", f.linear, ((4, 3), (2, 3), (2,))
    yield "linear of a vector", f.linear, ((3,), (2, 3), (2,))
    yield "bilinear", f.bilinear, ((4, 3), (4, 2), (5, 3, 2))
    yield "conv1d", f.conv1d, ((2, 3, 8), (4, 3, 3), (4,))
    yield "conv2d", lambda x, w: f.conv2d(x, w, stride=2, padding=1, groups=2), ((2, 4, 6, 6), (4, 2, 3, 3))
    yield "conv2d without a batch", f.conv2d, ((3, 6, 6), (4, 3, 3, 3))
    yield "conv_transpose2d", lambda x, w: f.conv_transpose2d(x, w, stride=2), ((2, 3, 4, 4), (3, 2, 3, 3))
    yield "max_pool2d", lambda x: f.max_pool2d(x, 2), ((2, 3, 6, 6),)
    yield "avg_pool2d", lambda x: f.avg_pool2d(x, 2), ((3, 6, 6),)
    yield "adaptive_avg_pool2d", lambda x: f.adaptive_avg_pool2d(x, 2), ((2, 3, 5, 5),)
    yield "adaptive_max_pool1d", lambda x: f.adaptive_max_pool1d(x, 2), ((2, 3, 5),)
    yield "interpolate", lambda x: f.interpolate(x, scale_factor=2), ((1, 2, 3, 3),)
    yield "interpolate lines", lambda x: f.interpolate(x, scale_factor=2, mode="linear"), ((1, 2, 3),)
    yield "pad", lambda x: f.pad(x, (1, 2)), ((2, 3),)
    yield "reflect pad", lambda x: f.pad(x, (1, 1), "reflect"), ((2, 3),)
    yield "unfold images", lambda x: f.unfold(x, 2), ((1, 2, 4, 4),)
    yield "layer_norm", lambda x, w, b: f.layer_norm(x, (3,), w, b), ((2, 3), (3,), (3,))
    yield "group_norm", lambda x: f.group_norm(x, 2), ((2, 4, 3),)
    yield "instance_norm", f.instance_norm, ((2, 3, 4),)
    yield "batch_norm", lambda x, w, b: f.batch_norm(x, None, None, w, b, True), ((4, 3, 2), (3,), (3,))
    yield "rms_norm", lambda x: f.rms_norm(x, (3,)), ((2, 3),)
    yield "normalize", f.normalize, ((2, 3),)
    yield "attention", f.scaled_dot_product_attention, ((2, 4, 3), (2, 5, 3), (2, 5, 3))
    yield "cross_entropy", f.cross_entropy, ((4, 3), ("int", 3, (4,)))
    yield "cross_entropy of one", f.cross_entropy, ((3,), ("int", 3, ()))
    yield "nll_loss", lambda x, t: f.nll_loss(x, t, reduction="none"), ((4, 3, 2), ("int", 3, (4, 2)))
    yield "binary_cross_entropy", f.binary_cross_entropy, (("positive", (3,)), ("positive", (3,)))
    yield "bce with logits", f.binary_cross_entropy_with_logits, ((3,), ("positive", (3,)))
    yield "cosine_similarity", lambda x, y: f.cosine_similarity(x, y, 0), ((3,), (3,))
    yield "glu", f.glu, ((2, 4),)
    yield "pixel_shuffle", lambda x: f.pixel_shuffle(x, 2), ((4, 3, 3),)
    yield "grid_sample", lambda x, g: f.grid_sample(x, g, align_corners=False), ((1, 2, 4, 4), (1, 3, 3, 2))


def _linalg(torch: Any) -> Iterator[Row]:
    matrix = ("matrix", 3)
    for name in ("matmul", "mm"):
        yield name, getattr(torch, name), ((2, 3), (3, 4))
    yield "bmm", torch.bmm, ((2, 2, 3), (2, 3, 4))
    yield "mv", torch.mv, ((2, 3), (3,))
    yield "dot", torch.dot, ((3,), (3,))
    yield "matmul of a stack", torch.matmul, ((5, 2, 3), (3,))
    yield "addmm", lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), ((4,), (2, 3), (3, 4))
    yield "baddbmm", torch.baddbmm, ((1, 2, 4), (2, 2, 3), (2, 3, 4))
    yield "addmv", torch.addmv, ((2,), (2, 3), (3,))
    yield "addr", torch.addr, ((2, 3), (2,), (3,))
    yield "kron", torch.kron, ((2, 2), (2, 3))
    for name in ("det", "slogdet", "inv", "cholesky", "eigvalsh", "svdvals", "matrix_norm", "pinv"):
        yield f"linalg.{name}", getattr(torch.linalg, name), (matrix,)
    yield "solve", torch.linalg.solve, (matrix, (3, 2))
    yield "solve for a vector", torch.linalg.solve, (matrix, (3,))
    yield "solve_triangular", lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), (matrix, (3, 2))
    yield "matrix_power", lambda a: torch.linalg.matrix_power(a, 3), (matrix,)
    yield "matrix_exp", torch.matrix_exp, (matrix,)
    yield "qr", lambda a: torch.linalg.qr(a).R.abs(), ((4, 3),)
    yield "trace", torch.trace, (matrix,)
