"""Small public names: gradients of convolutions, factory_kwargs, LinearCrossEntropyLoss, packed casts."""

from __future__ import annotations

from typing import Any

from .program import attempt, program, values


@program
def gradients_of_convolutions(torch: Any) -> Any:
    grads, log = torch.nn.grad, []
    for dims in (1, 2, 3):
        for options in (
            {},
            {"stride": 2, "padding": 1},
            {"dilation": 2, "groups": 2},
            {"stride": (2,) * dims, "padding": 2, "dilation": 1, "groups": 2},
        ):
            torch.manual_seed(dims)
            x = torch.randn(2, 4, *range(6, 6 + dims), requires_grad=True)
            weight = torch.randn(2, 4 // options.get("groups", 1), *(3,) * dims, requires_grad=True)
            out = getattr(torch.nn.functional, f"conv{dims}d")(x, weight, **options)
            grad = torch.randn_like(out)
            expected = torch.autograd.grad(out, (x, weight), grad)
            found = (
                getattr(grads, f"conv{dims}d_input")(x.shape, weight, grad, **options),
                getattr(grads, f"conv{dims}d_weight")(x, weight.shape, grad, **options),
            )
            log.append([torch.allclose(a, b, atol=1e-5) for a, b in zip(expected, found, strict=True)])
            log.append([found[0].requires_grad, found[0].sum().item(), found[1].sum().item()])
            log.append(torch.autograd.grad(found[0].square().sum(), weight)[0].sum().item())
    wrong = torch.ones(1, 1, 5, 5)
    log.append(
        attempt(lambda: grads.conv2d_input((1, 1, 4, 4), torch.ones(1, 1, 3, 3), wrong).sum().item())[0]
    )
    log.append(attempt(lambda: grads.conv2d_input((1, 4, 4), torch.ones(1, 1, 3, 3), wrong)))
    return log


@program
def linear_cross_entropy_loss(torch: Any) -> Any:
    log: list[Any] = []
    for options in (
        {},
        {"bias": True},
        {"reduction": "sum"},
        {"reduction": "none", "label_smoothing": 0.1},
        {"weight": torch.arange(5.0)},
        {"ignore_index": 4},
        {"out_features": (2,), "bias": True},
        {"dtype": torch.float64},
    ):
        torch.manual_seed(1)
        loss = torch.nn.LinearCrossEntropyLoss(4, 5, **options)
        x = torch.randn(3, 4, dtype=loss.linear.weight.dtype, requires_grad=True)
        out = loss(x, torch.tensor([0, 4, 2]) if not loss.out_features else torch.tensor([[0, 4]] * 3))
        out.sum().backward()
        log.append([out.tolist(), x.grad.tolist(), loss.linear.weight.grad.tolist()])
        log.append([values(loss.state_dict()), repr(loss), repr(loss.linear)])
    loss = torch.nn.LinearCrossEntropyLoss(4, 5)
    log.append(attempt(lambda: loss(torch.ones(2, 3, 4), torch.zeros(2, 3, dtype=torch.long))))
    log.append(loss(torch.ones(2, 4), torch.full((2, 5), 0.2)).item())
    log.append(attempt(lambda: torch.nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2)))
    return log


@program
def linear_cross_entropy_in_pieces(torch: Any) -> Any:
    """The loss computed by pieces of the batch, and which options are refused."""
    make, loss_of = torch.nn.LinearCrossEntropyOptions, torch.nn.functional.linear_cross_entropy
    log: list[Any] = [repr(make()), repr(torch.nn.LinearCrossEntropyLoss(4, 3, options=make()))]
    torch.manual_seed(0)
    x, w, b = torch.randn(7, 3), torch.randn(5, 3), torch.randn(5)
    y = torch.randint(0, 5, (7,))
    leaves = [each.requires_grad_() for each in (x, w, b)]
    for given in (make(), make(batch_chunk_size=2), make(chunking_method=None), make(acc_policy="accurate")):
        for more in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": torch.arange(5.0)},
                     {"ignore_index": int(y[0])}):
            loss = loss_of(x, w, y, linear_bias=b, options=given, **more)
            log.append([loss.tolist(), *[g.tolist() for g in torch.autograd.grad(loss.sum(), leaves)]])
    for wrong in ({"batch_chunk_size": 0}, {"chunking_method": "x"}, {"chunking_method": "aspect_ratio:0"},
                  {"acc_policy": None}, {"acc_dtype": torch.long}):
        log.append(attempt(lambda wrong=wrong: make(**wrong)))
    log.append(attempt(lambda: loss_of(x, w, y, options=make(acc_dtype=torch.double))))
    log.append(loss_of(x, w, y, options=make(), label_smoothing=0.1).item())
    return log


@program
def factory_keywords(torch: Any) -> Any:
    def canonical(kwargs: Any) -> Any:
        return attempt(lambda: sorted((n, str(v)) for n, v in torch.nn.factory_kwargs(kwargs).items()))

    twice = {"dtype": torch.int, "factory_kwargs": {"dtype": torch.int}}
    nested = {"device": "cpu", "factory_kwargs": {"dtype": torch.int}}
    return [repr(canonical(k)) for k in (None, {}, {"device": "cpu"}, {"x": 1}, twice, nested)]


@program
def packed_casts(torch: Any) -> Any:
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, -2.0]), torch.tensor([3.0])])
    return [
        [str(getattr(packed, kind)().data.dtype), getattr(packed, kind)().data.tolist()]
        for kind in ("short", "char", "int", "long", "half", "double")
    ]


@program
def lanczos_resampling(torch: Any) -> Any:
    """Images made smaller and larger with the kernel of Lanczos, and what it does not do."""
    resample = torch.nn.functional.interpolate
    torch.manual_seed(0)
    x = torch.rand(1, 2, 8, 7, requires_grad=True)
    log: list[Any] = []
    for size in ({"size": (4, 4)}, {"size": (16, 5)}, {"scale_factor": 2}, {"scale_factor": 0.5}):
        y = resample(x, mode="lanczos", antialias=True, **size)
        log += [y.tolist(), torch.autograd.grad(y.square().sum(), x)[0].tolist()]
    log.append(resample((x * 255).to(torch.uint8), size=4, mode="lanczos", antialias=True).tolist())
    log.append(attempt(lambda: resample(x, size=4, mode="lanczos")))
    log.append(attempt(lambda: resample(x, size=4, mode="lanczos", antialias=True, align_corners=True)))
    log.append(attempt(lambda: resample(x[0], size=4, mode="lanczos", antialias=True)))
    return log


@program
def losses_of_mixed_types(torch: Any) -> Any:
    """Some losses have the type of one of their operands."""
    functional = torch.nn.functional
    torch.manual_seed(0)
    log: list[Any] = []
    kinds = (torch.float32, torch.float64, torch.bfloat16)
    for one in kinds:
        for other in kinds:
            x, y = torch.rand(3, dtype=torch.float64).to(one), torch.rand(3, dtype=torch.float64).to(other)
            for loss in (
                functional.huber_loss(x, y),
                functional.soft_margin_loss(x, y),
                functional.binary_cross_entropy_with_logits(x, y),
                functional.mse_loss(x, y),
            ):
                log.append([str(loss.dtype).rpartition(".")[2], round(loss.item(), 1)])
    return log


@program
def registered_flash_attention(torch: Any) -> Any:
    """An implementation is in use from when it gives a handle until that is let go of."""
    attention, log = torch.nn.attention, list[Any]()

    class Handle:
        def remove(self) -> None:
            log.append("removed")

    for name, register in (("silent", lambda: None), ("held", Handle)):
        attention.register_flash_attention_impl(name, register_fn=register)
    for name in ("silent", "held", "silent", "held"):
        attention.activate_flash_attention_impl(name)
        log.append(attention.current_flash_attention_impl())
    attention.restore_flash_attention_impl()
    return [*log, attention.current_flash_attention_impl()]
