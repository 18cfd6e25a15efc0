"""Expressions over the functions behind layers, and the tensors they are about.

``x(shape)`` is a tensor of fixed values that requires grad, ``c(shape)`` one that does not;
``k(shape, n)`` holds class numbers below n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FAMILIES: dict[str, list[str]] = {
    "losses without a reduction": [
        "torch.kl_div(x(3), c(3).abs())",
        "torch.hinge_embedding_loss(x(3, 4), c(3, 4).sign())",
        "torch.margin_ranking_loss(x(3), x(3).flip(0), c(3).sign())",
        "torch.cosine_embedding_loss(x(3, 4), x(3, 4).flip(0), c(3).sign())",
        "torch.triplet_margin_loss(x(3, 4), x(3, 4).flip(0), c(3, 4))",
        "torch.binary_cross_entropy_with_logits(x(3), c(3).abs())",
        "torch.ctc_loss(x(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]]), torch.tensor([5, 4]), "
        "torch.tensor([2, 2]))",
    ],
    "segments": [
        "torch.segment_reduce(x(6), 'sum', lengths=torch.tensor([2, 0, 4]))",
        "torch.segment_reduce(x(6), 'mean', lengths=torch.tensor([2, 1, 3]))",
        "torch.segment_reduce(x(6), 'mean', lengths=torch.tensor([2, 0, 4]), initial=3.0)",
        "torch.segment_reduce(x(6, 2), 'max', lengths=torch.tensor([2, 4]))",
        "torch.segment_reduce(x(6, 2), 'min', offsets=torch.tensor([0, 2, 2, 6]), initial=1.0)",
        "torch.segment_reduce(x(2, 3), 'prod', lengths=torch.tensor([[2, 1], [1, 2]]), axis=1)",
        "torch.segment_reduce(x(4, 3), 'sum', lengths=torch.tensor([1, 2]), unsafe=True)",
    ],
    "bags of rows": [
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2, 2]))[0]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2, 6]), False, 1, "
        "include_last_offset=True)[0]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2]), mode=2)[0]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2]), per_sample_weights=x(6))[0]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2]), False, 1, False, None, False, 1)[2]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2]), False, 2, False, None, False, 1)[3]",
        "torch.embedding_bag(x(5, 3), k((6,), 5), torch.tensor([0, 2]), False, 0, False, None, False, 1)[1]",
    ],
    "fake quantization": [
        "torch.fake_quantize_per_tensor_affine(3 * x(9), 0.1, 0, -10, 10)",
        "torch.fake_quantize_per_tensor_affine(x(9), c(1)[0].abs() + 0.1, torch.tensor(3), -8, 7)",
        "torch.fake_quantize_per_tensor_affine(x(9).bfloat16(), 0.1, 1, -8, 7)",
        "torch.fake_quantize_per_channel_affine(3 * x(2, 3), c(2).abs(), torch.zeros(2), 0, -8, 7)",
        "torch.fake_quantize_per_channel_affine(3 * x(2, 3), c(3).abs() + 0.1, k((3,), 4).int(), 1, 0, 15)",
    ],
    "grouped products": [
        "F.grouped_mm(x(6, 4), x(2, 4, 8), offs=torch.tensor([2, 6], dtype=torch.int32))",
        "F.grouped_mm(x(2, 6, 4), x(4, 8), offs=torch.tensor([4, 8], dtype=torch.int32))",
        "F.grouped_mm(x(6, 8), x(8, 4), offs=torch.tensor([4, 8], dtype=torch.int32))",
        "F.grouped_mm(x(2, 6, 4), x(2, 4, 8))",
    ],
    "older names": [
        "torch.frobenius_norm(x(3, 4), 1)",
        "torch.frobenius_norm(x(3, 4), [0, 1], True)",
        "torch.nuclear_norm(c(3, 4))",
        "torch.nuclear_norm(c(2, 3, 4), (0, 2), True)",
        "torch.cond(torch.tensor(True), lambda y: y * 2, lambda y: y - 1, (x(2),))",
        "torch.cond(False, lambda y: y * 2, lambda y: y - 1, (x(2),))",
        "torch.while_loop(lambda y: y.sum() < 9, lambda y: y * 2, (x(3).detach().abs() + 1,))",
        "torch.batch_norm_update_stats(c(4, 3, 2), c(3), c(3).abs(), 0.1)[1]",
        "torch.tensor([True, False]).index_add(0, torch.tensor([0, 1, 1]), torch.tensor([True, False, "
        "True])).int()",
        "torch.logaddexp(x(3), x(3))",
        "torch.nextafter(x(3), c(3).round())",
        "torch.arange(0.5, 5, 1.5, dtype=torch.int32)",
        "torch.arange(0, 2.5, dtype=torch.int64)",
        "torch.lobpcg(torch.diag(c(12).abs() + torch.arange(12.)), k=2, niter=100)[0]",
        "torch.special.gammaincc(c(3).abs(), x(3).abs())",
        "F.rms_norm(x(4, 8).bfloat16(), (8,), x(8))",
        "F.group_norm(x(2, 4, 5).bfloat16(), 2, x(4), x(4))",
        "F.instance_norm(x(2, 4, 5).bfloat16(), weight=x(4), bias=x(4))",
        "torch.tensor([1., -3.3, 0.]).to(torch.float8_e4m3fnuz).float()",
        "torch.tensor([1., -3.3, 500.]).to(torch.float8_e5m2fnuz).float()",
    ],
    "convolution": [
        "F.conv1d(x(2, 3, 8), x(4, 3, 3), x(4), stride=2, padding=1)",
        "F.conv2d(x(1, 4, 6, 5), x(6, 2, 3, 2), x(6), (2, 1), (1, 2), (1, 2), 2)",
        "F.conv2d(x(2, 2, 5, 5), x(3, 2, 3, 5), padding='same')",
        "F.conv3d(x(2, 4, 4, 4), x(3, 2, 2, 2, 2), x(3))",
        "F.conv_transpose1d(x(2, 4, 5), x(4, 3, 3), x(3), stride=2, padding=1, output_padding=1)",
        "F.conv_transpose2d(x(1, 4, 3, 3), x(4, 2, 3, 2), stride=2, groups=2, dilation=2)",
        "F.conv_transpose3d(x(1, 2, 2, 3, 2), x(2, 3, 2, 2, 2))",
        "torch.conv_tbc(x(5, 2, 3), x(3, 3, 4), x(4), 1)",
    ],
    "pooling": [
        "F.max_pool1d(x(2, 3, 9), 3, 2, 1, dilation=2)",
        "F.max_pool2d(x(2, 3, 7, 6), (3, 2), stride=2, padding=1, ceil_mode=True)",
        "F.max_pool3d(x(2, 4, 5, 4), 2)",
        "F.max_pool2d(x(1, 2, 5, 5), 3, return_indices=True)[1]",
        "F.avg_pool1d(x(2, 3, 9), 4, 3, 2, count_include_pad=False)",
        "F.avg_pool2d(x(2, 3, 7, 6), 3, 2, 1, ceil_mode=True, divisor_override=5)",
        "F.avg_pool3d(x(1, 2, 4, 5, 4), (2, 3, 2), 1)",
        "F.adaptive_avg_pool2d(x(2, 3, 7, 5), (3, None))",
        "F.adaptive_max_pool2d(x(2, 3, 7, 5), (3, 4))",
        "F.lp_pool2d(x(1, 2, 6, 6), 3, 2)",
        "F.max_unpool2d(*F.max_pool2d(x(1, 2, 4, 6), 2, return_indices=True), 2)",
        "F.fractional_max_pool2d(x(1, 2, 7, 9), 2, output_size=(3, 4), _random_samples=c(1, 2, 2).abs())",
        "F.fractional_max_pool3d(x(2, 6, 5, 7), 2, output_size=3, _random_samples=c(1, 2, 3).abs())",
    ],
    "normalization of numbers with infinite squares": [
        "F.layer_norm(1e20 * (2 + x(3, 64)), (64,))",
        "F.layer_norm((2 + x(3, 64)).bfloat16() * 1e20, (64,))",
        "F.group_norm(1e20 * (2 + x(2, 4, 9, 8)), 2)",
        "F.group_norm((1e20 * (2 + x(2, 4, 9, 8))).contiguous(memory_format=torch.channels_last), 2)",
        "F.instance_norm(1e20 * (2 + x(2, 4, 9, 8)))",
        "F.batch_norm(1e20 * (2 + x(2, 4, 9, 8)), None, None, training=True)",
        "F.rms_norm(1e20 * (2 + x(3, 64)), (64,))",
    ],
    "normalization": [
        "F.layer_norm(x(2, 3, 4), (3, 4), x(3, 4), x(3, 4))",
        "F.rms_norm(x(2, 3, 4), (4,), x(4), 1e-6)",
        "F.group_norm(x(2, 6, 5), 3, x(6), x(6))",
        "F.instance_norm(x(2, 3, 5, 2), weight=x(3), bias=x(3))",
        "F.batch_norm(x(3, 4, 5), None, None, x(4), x(4), training=True)",
        "F.batch_norm(x(3, 4), c(4), c(4).abs(), x(4), x(4))",
        "F.local_response_norm(x(2, 5, 4), 3, alpha=0.1)",
        "F.normalize(x(3, 4), p=3.0)",
        "torch.native_group_norm(x(2, 6, 5), x(6), x(6), 2, 6, 5, 2, 1e-5)[0]",
        "torch.native_batch_norm(x(3, 4, 5), None, None, None, None, True, 0.1, 1e-5)[1]",
        "torch.renorm(x(3, 4, 2), 1.5, 1, 0.75)",
    ],
    "losses": [
        "F.nll_loss(x(4, 5).log_softmax(1), k((4,), 5), c(5).abs())",
        "F.cross_entropy(x(2, 5, 3), k((2, 3), 5), ignore_index=2, label_smoothing=0.1)",
        "F.cross_entropy(x(4, 5), x(4, 5).softmax(1), reduction='sum')",
        "F.linear_cross_entropy(x(4, 3), x(5, 3), k((4,), 5), linear_bias=x(5))",
        "F.binary_cross_entropy(x(3, 4).sigmoid(), c(3, 4).abs())",
        "F.binary_cross_entropy_with_logits(x(3, 4), c(3, 4).abs(), pos_weight=c(4).abs())",
        "F.mse_loss(x(3, 4), c(3, 4) + 1)",
        "F.l1_loss(x(3, 4), c(3, 4) * 2, reduction='none')",
        "F.smooth_l1_loss(x(3, 4), c(3, 4) * 3, beta=0.5)",
        "F.huber_loss(x(3, 4), c(3, 4) * 3, delta=0.5)",
        "F.kl_div(x(3, 4).log_softmax(1), x(3, 4).softmax(1), reduction='batchmean')",
        "F.poisson_nll_loss(x(3, 4), c(3, 4).abs(), full=True)",
        "F.gaussian_nll_loss(x(3, 4), c(3, 4) + 1, c(3, 4).abs())",
        "F.hinge_embedding_loss(x(3, 4), c(3, 4).sign())",
        "F.margin_ranking_loss(x(4), x(4).flip(0), c(4).sign(), 0.3)",
        "F.cosine_embedding_loss(x(4, 3), x(4, 3).flip(1), c(4).sign(), 0.2)",
        "F.triplet_margin_loss(x(4, 3), x(4, 3) + 0.5, x(4, 3).flip(0), swap=True)",
        "F.multi_margin_loss(x(4, 5), k((4,), 5), p=2)",
        "F.multilabel_margin_loss(x(4, 5), k((4, 5), 5))",
        "F.multilabel_soft_margin_loss(x(4, 5), c(4, 5).abs())",
        "F.soft_margin_loss(x(4, 5), c(4, 5).sign())",
        "F.ctc_loss(x(6, 2, 5).log_softmax(2), k((2, 3), 4) + 1, (6, 5), (3, 2))",
        "F.ctc_loss(x(6, 2, 5).log_softmax(2), torch.tensor([1, 1, 2, 3]), (6, 2), (2, 2), 0, 'mean', True)",
        "F.ctc_loss(x(6, 5).log_softmax(1), torch.tensor([4, 2]), torch.tensor(6), torch.tensor(2), blank=1)",
    ],
    "embedding": [
        "F.embedding(k((3, 4), 6), x(6, 3), padding_idx=2)",
        "F.embedding_bag(k((7,), 6), x(6, 3), torch.tensor([0, 2, 5]), mode='sum', per_sample_weights=x(7))",
        "F.embedding_bag(k((2, 4), 6), x(6, 3), mode='max')",
        "F.one_hot(k((2, 3), 5))",
    ],
    "padding and folding": [
        "F.pad(x(2, 3, 4), (1, -1, 2, 0), value=0.5)",
        "F.pad(x(1, 2, 3, 4), (2, 1, 1, 2), mode='reflect')",
        "F.pad(x(1, 2, 3, 4), (2, -1, -1, 3), mode='replicate')",
        "F.pad(x(1, 2, 3, 4), (-1, 2, 1, 1), mode='circular')",
        "F.unfold(x(2, 3, 5, 6), (2, 3), dilation=2, padding=1, stride=2)",
        "F.fold(x(2, 12, 9), (4, 5), (2, 3), stride=(1, 2), padding=(0, 1))",
        "F.pixel_shuffle(x(1, 8, 2, 3), 2)",
        "F.pixel_unshuffle(x(1, 2, 4, 6), 2)",
        "F.channel_shuffle(x(1, 6, 2, 2), 3)",
    ],
    "attention and recurrence": [
        "F.scaled_dot_product_attention(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), scale=0.7)",
        "F.scaled_dot_product_attention(x(1, 2, 4, 4), x(1, 2, 4, 4), x(1, 2, 4, 3), is_causal=True)",
        "F.scaled_dot_product_attention(x(3, 4), x(2, 5, 4), x(2, 5, 4), attn_mask=c(3, 5) > -0.5)",
        "torch.lstm_cell(x(2, 3), (x(2, 4), x(2, 4)), x(16, 3), x(16, 4), x(16), x(16))[1]",
        "torch.gru_cell(x(2, 3), x(2, 4), x(12, 3), x(12, 4), x(12), x(12))",
        "torch.rnn_tanh_cell(x(2, 3), x(2, 4), x(4, 3), x(4, 4))",
    ],
    "resampling": [
        "F.interpolate(x(1, 2, 5), size=8, mode='linear')",
        "F.interpolate(x(1, 2, 4, 5), scale_factor=(1.5, 2), mode='bilinear', align_corners=True)",
        "F.interpolate(x(1, 2, 4, 5), size=(3, 7), mode='bicubic')",
        "F.interpolate(x(1, 2, 6, 7), size=(3, 4), mode='bilinear', antialias=True)",
        "F.interpolate(x(1, 1, 3, 4, 2), size=(2, 5, 3), mode='trilinear')",
        "F.interpolate(x(1, 2, 4, 5), size=(3, 7), mode='nearest-exact')",
        "F.interpolate((c(1, 3, 4, 4).abs() * 200).to(torch.uint8), size=(3, 3), mode='bilinear')",
        "F.grid_sample(x(1, 2, 4, 5), x(1, 3, 3, 2) * 1.5, align_corners=False)",
        "F.grid_sample(x(1, 2, 4, 5), x(1, 3, 3, 2), 'bicubic', 'border', True)",
        "torch.grid_sampler_3d(x(1, 2, 3, 4, 2), x(1, 2, 2, 3, 3) * 2, 0, 2, False)",
        "F.affine_grid(x(2, 2, 3), (2, 1, 3, 4), align_corners=False)",
    ],
    "distances": [
        "torch.cdist(x(2, 3, 4), x(2, 5, 4) + 1)",
        "torch.cdist(x(30, 4), x(5, 4) * 2)",
        "torch.cdist(x(3, 4), x(5, 4) + 1, p=1.5)",
        "torch.cdist(x(3, 4), x(5, 4) + 1, p=float('inf'))",
        "F.pdist(x(5, 3))",
        "F.pdist(x(5, 3), p=3)",
        "F.pairwise_distance(x(4, 3), x(4, 3).flip(0), p=1)",
        "F.cosine_similarity(x(4, 3), x(4, 3).flip(0))",
        "torch.gradient(x(5, 4), spacing=(c(5), torch.tensor([0., 1., 3., 4.])), edge_order=2)[1]",
    ],
    "masked operations": [
        "torch.masked.mean(x(3, 4), 1, mask=c(3, 4) > 0)",
        "torch.masked.prod(x(3, 4), (0, 1), mask=c(3, 4) > 0)",
        "torch.masked.amax(x(3, 4), 0, mask=c(4) > 0, keepdim=True)",
        "torch.masked.var(x(3, 4), mask=c(3, 4) > -0.5)",
        "torch.masked.median(x(3, 5), 1, mask=c(3, 5) > -0.5)",
        "torch.masked.logsumexp(x(3, 4), 1, mask=c(3, 4) > -0.9)",
        "torch.masked.normalize(x(3, 4), 2.0, 1, mask=c(3, 4) > 0)",
        "torch.masked.cumprod(x(3, 4), 1, mask=c(3, 4) > 0)",
        "torch.masked.softmin(x(3, 4), 0, mask=c(3, 4) > -0.9)",
        "torch.masked.argmax((c(3, 4) * 9).int(), 1, mask=c(3, 4) > 0)",
    ],
    "signals": [
        "torch.signal.windows.kaiser(7, beta=3.0, sym=False)",
        "torch.signal.windows.exponential(6, center=0, tau=2.0, sym=False)",
        "torch.signal.windows.general_cosine(6, a=[0.5, 0.3, 0.2])",
        "torch.signal.windows.cosine(5, dtype=torch.float64)",
        "torch.signal.windows.bartlett(6)",
        "torch.stft(x(2, 12), 4, 2, window=x(4), return_complex=True).abs()",
        "torch.stft(x(12), 6, 3, 4, x(4), False, 'reflect', True, False, True).real",
        "torch.istft(torch.stft(x(12), 4, window=torch.hann_window(4), return_complex=True), 4,"
        " window=torch.hann_window(4), length=11)",
    ],
    "factors": [
        "torch.linalg.ldl_factor(c(5, 5) + c(5, 5).T)[0]",
        "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(c(5, 5) + c(5, 5).T + torch.eye(5)), c(5, 2))",
        "torch.svd_lowrank(x(6, 1) @ x(1, 4), 1)[1]",
        "torch.pca_lowrank(x(6, 2) @ x(2, 4), 2)[1]",
        "torch.hash_tensor(k((3, 4), 9), 1)",
    ],
}


def _values(shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return np.sin(np.arange(count) * 1.7 + count).astype(np.float32).reshape(shape)


def names(torch: Any) -> dict[str, Any]:
    """What the expressions may use, under one framework; ``leaves`` collects the tensors made by ``x``."""
    leaves: list[Any] = []

    def x(*shape: int) -> Any:
        leaves.append(torch.tensor(_values(shape).tolist(), requires_grad=True))
        return leaves[-1]

    def k(shape: tuple[int, ...], n: int) -> Any:
        count = int(np.prod(shape))
        return torch.tensor(((np.arange(count) * 7 + 3) % n).reshape(shape).tolist())

    def c(*shape: int) -> Any:
        return torch.tensor(_values(shape).tolist())

    return {"torch": torch, "F": torch.nn.functional, "x": x, "c": c, "k": k, "leaves": leaves}


def outcome(torch: Any, expression: str) -> dict[str, Any]:
    """Shape, type and values of an expression, and the gradients of a fixed weighting of it."""
    found = names(torch)
    value = eval(expression, found)
    result: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape), "gradients": []}
    if value.requires_grad and value.is_floating_point():
        weights = np.cos(np.arange(value.numel())).astype(np.float32).reshape(tuple(value.shape))
        cotangent = torch.tensor(weights.tolist(), dtype=value.dtype).reshape(value.shape)
        grads = torch.autograd.grad(value, found["leaves"], cotangent, allow_unused=True)
        result["gradients"] = [None if g is None else np.array(g.tolist()) for g in grads]
    result["value"] = np.array(value.detach().tolist(), dtype=np.float64)
    return result


def digest(values: np.ndarray[Any, Any]) -> float:
    """One number that changes with every element."""
    flat = values.reshape(-1)
    return float((flat * np.cos(0.3 * np.arange(flat.size) + 0.1)).sum())


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """An outcome in few numbers, to be stored."""
    return {
        "dtype": found["dtype"],
        "shape": found["shape"],
        "value": digest(found["value"]),
        "gradients": [None if g is None else digest(g) for g in found["gradients"]],
    }
