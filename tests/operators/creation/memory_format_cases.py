"""What is asked of operators on images about how their results and gradients lie in memory.

Written against PyTorch's API, so that the same questions can be put to PyTorch (record_memory_formats.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Case = Callable[[Any], Any]
GRADIENTS = "sum", "square", "last", "contiguous"


def values(torch: Any, *shape: int) -> Any:
    """Numbers of that shape."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).sin()


def shapes(ndim: int, ambiguous: bool) -> Iterator[tuple[int, ...]]:
    """Shapes of images; ``ambiguous``: and those that could be in either format but for their strides."""
    space = (6, 8) if ndim == 4 else (4, 6, 8)
    yield 2, 4, *space
    yield 1, 4, *space
    if ambiguous:
        yield 2, 1, *space
        yield 1, 1, *space


def layouts(torch: Any, x: Any) -> Iterator[Any]:
    """The tensor in layouts that suggest one format or the other, or neither."""
    last = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
    outwards, inwards = (x.ndim - 1, *range(x.ndim - 1)), (*range(1, x.ndim), 0)
    yield x.clone()
    yield x.contiguous(memory_format=last)
    yield torch.empty(x.shape, memory_format=last).copy_(x)
    yield x.transpose(0, 1).contiguous().transpose(0, 1)
    yield torch.cat([x, x], -1)[..., ::2]
    yield torch.cat([x, x], 1).contiguous(memory_format=last)[:, :x.shape[1]]
    yield x.permute(outwards).contiguous().permute(inwards)
    yield x[:1].expand(x.shape)


def convolutions(torch: Any, ndim: int) -> dict[str, Case]:
    """Plain and transposed, with weights in either format."""
    F, dims = torch.nn.functional, ndim - 2
    last = torch.channels_last if dims == 2 else torch.channels_last_3d
    conv = F.conv2d if dims == 2 else F.conv3d
    transposed = F.conv_transpose2d if dims == 2 else F.conv_transpose3d

    def weight(x: Any, outs: int = 6, size: int = 3, groups: int = 1) -> Any:
        return values(torch, outs, x.shape[1] // groups, *[size] * dims)

    def turned(x: Any, size: int = 3) -> Any:
        return values(torch, x.shape[1], 6, *[size] * dims)

    def to_last(w: Any) -> Any:
        return torch.empty(w.shape, memory_format=last).copy_(w)

    return {
        "3": lambda x: conv(x, weight(x), torch.ones(6), padding=1),
        "3, weight last": lambda x: conv(x, to_last(weight(x)), padding=1),
        "3, weight transposed": lambda x: conv(x, turned(x).transpose(0, 1), padding=1),
        "stride": lambda x: conv(x, weight(x), stride=2, padding=1),
        "1": lambda x: conv(x, weight(x, size=1)),
        "1, weight last": lambda x: conv(x, to_last(weight(x, size=1))),
        "one result": lambda x: conv(x, weight(x, outs=1), padding=1),
        "dilation": lambda x: conv(x, weight(x), padding=2, dilation=2),
        "same": lambda x: conv(x, weight(x), padding="same"),
        "depthwise": lambda x: conv(x, weight(x, x.shape[1], groups=x.shape[1]), padding=1,
                                    groups=x.shape[1]),
        "groups": lambda x: conv(x, weight(x, 4, groups=x.shape[1] // 2 or 1), padding=1,
                                 groups=x.shape[1] // 2 or 1),
        "whole": lambda x: conv(x, values(torch, 6, *x.shape[1:])),
        "transposed": lambda x: transposed(x, turned(x), torch.ones(6)),
        "transposed, stride": lambda x: transposed(x, turned(x), stride=2, padding=1, output_padding=1),
        "transposed, weight last": lambda x: transposed(x, to_last(turned(x))),
        "transposed, 1": lambda x: transposed(x, turned(x, 1)),
        "and normalized": lambda x: F.relu(F.batch_norm(conv(x, weight(x), padding=1), None, None,
                                                        training=True)),
        "residual": lambda x: conv(x, weight(x, x.shape[1]), padding=1) + x,
    }


def exact(torch: Any, ndim: int) -> dict[str, Case]:
    """Others that agree where the format is ambiguous, too."""
    F, dims = torch.nn.functional, ndim - 2
    maximum = F.max_pool2d if dims == 2 else F.max_pool3d
    average = F.avg_pool2d if dims == 2 else F.avg_pool3d
    adaptive = F.adaptive_max_pool2d if dims == 2 else F.adaptive_max_pool3d
    return {
        "max_pool": lambda x: maximum(x, 2, return_indices=True),
        "max_pool, padded": lambda x: maximum(x, 3, 1, 1),
        "avg_pool": lambda x: average(x, 2),
        "adaptive_max_pool": lambda x: adaptive(x, 2, return_indices=True),
        "batch_norm": lambda x: F.batch_norm(x, None, None, torch.ones(x.shape[1]), training=True),
        "instance_norm": lambda x: F.instance_norm(x),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
        "softmax": lambda x: F.softmax(x, 1), "dropout": lambda x: F.dropout(x),
        "relu": lambda x: F.relu(x), "gelu": lambda x: F.gelu(x),
        "circular": lambda x: F.pad(x, (1, 1) * dims, mode="circular"), "cat": lambda x: torch.cat([x, x]),
        "sort": lambda x: x.sort(1), "index_add": lambda x: x.index_add(0, torch.tensor([0]), x[:1]),
        "scatter_add": lambda x: x.scatter_add(1, torch.zeros(x.shape, dtype=torch.long), x),
        "zeros_like": lambda x: torch.zeros_like(x), "randn_like": lambda x: torch.randn_like(x),
        "bernoulli": lambda x: torch.bernoulli(x.abs()), "flatten": lambda x: x.flatten(1),
        "max": lambda x: x.max(1), "index_select": lambda x: x.index_select(1, torch.tensor([0, 0])),
    }


def usual(torch: Any, ndim: int) -> dict[str, Case]:
    """Others, where the format is plain."""
    F, dims = torch.nn.functional, ndim - 2
    linear = "bilinear" if dims == 2 else "trilinear"
    found: dict[str, Case] = {
        "group_norm": lambda x: F.group_norm(x, 2), "leaky_relu": lambda x: F.leaky_relu(x),
        "clamp": lambda x: x.clamp(-1, 1),
        "linear": lambda x: F.interpolate(x, scale_factor=2, mode=linear),
        "constant": lambda x: F.pad(x, (1, 1) * dims), "cropped": lambda x: F.pad(x, (-1, 1) * dims),
        "cat, channels": lambda x: torch.cat([x, x[:, :1]], 1),
        "cat, mixed": lambda x: torch.cat([x, torch.ones(x.shape)], 1),
        "stack": lambda x: torch.stack([x, x], 1),
        "roll": lambda x: x.roll(1, 2), "flip": lambda x: x.flip(1), "clone": lambda x: x.clone(),
        "double": lambda x: x.double(), "index_fill": lambda x: x.index_fill(0, torch.tensor([0]), 1.0),
        "times": lambda x: x * torch.ones(1, x.shape[1], *[1] * dims),
    }
    if dims == 2:
        found["antialias"] = lambda x: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True)
        found["max_unpool"] = lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
    return found


def cases(torch: Any, ndim: int) -> dict[str, tuple[Case, bool]]:
    """Functions of an image, and whether they are asked about ambiguous ones."""
    return {**{f"conv {name}": (f, True) for name, f in convolutions(torch, ndim).items()},
            **{name: (f, True) for name, f in exact(torch, ndim).items()},
            **{name: (f, False) for name, f in usual(torch, ndim).items()}}


def lies(torch: Any, y: Any) -> str:
    """C: contiguous, L: channels last, B: both, else the strides."""
    strides = tuple(y.stride())
    contiguous = strides == tuple(torch.empty(y.shape).stride())
    last = torch.channels_last if y.ndim == 4 else torch.channels_last_3d
    lasting = y.ndim in (4, 5) and strides == tuple(torch.empty(y.shape, memory_format=last).stride())
    return "B" if contiguous and lasting else "C" if contiguous else "L" if lasting else str(list(strides))


def asked(torch: Any, function: Case, x: Any) -> str:
    """How the results lie, and the gradients of four functions of them."""
    torch.manual_seed(0)
    x = x.detach().requires_grad_()
    try:
        found = function(x)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    results = (found,) if isinstance(found, torch.Tensor) else tuple(found)
    told = "".join(lies(torch, y) for y in results)
    y = results[0]
    if not y.requires_grad:
        return told
    last = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
    grads = [torch.ones(()).expand(y.shape), 2 * y.detach()]
    if y.ndim == x.ndim:
        grads += [torch.ones(y.shape).contiguous(memory_format=last), torch.ones(y.shape)]
    found = [torch.autograd.grad(y, x, g, retain_graph=True)[0] for g in grads]
    return told + " " + "".join(lies(torch, g) for g in found)


def answers(torch: Any, ndim: int, name: str) -> str:
    """The answers for a function, in all layouts of all shapes."""
    function, ambiguous = cases(torch, ndim)[name]
    found = []
    for number, shape in enumerate(shapes(ndim, ambiguous)):
        for layout, x in enumerate(layouts(torch, values(torch, *shape))):
            if number == 0 or layout < 3:
                found.append(asked(torch, function, x))
    return ", ".join(found)
