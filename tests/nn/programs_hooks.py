"""Forward and backward hooks, of one module and global."""

from __future__ import annotations

from typing import Any

from .program import attempt, net, program


@program
def forward_hooks(torch: Any) -> Any:
    layer, log = torch.nn.Identity(), []
    layer.register_forward_hook(lambda module, args, out: log.append(("1", args[0].item(), out.item())))
    layer.register_forward_hook(lambda module, args, out: out * 2)
    first = layer.register_forward_hook(lambda module, args, out: log.append(("0", out.item())), prepend=True)
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    log.append(layer(torch.tensor(1.0)).item())
    first.remove()
    first.remove()
    log.append(layer(torch.tensor(2.0)).item())

    class Scaled(torch.nn.Module):
        def forward(self, x: Any, scale: float = 1.0) -> Any:
            if scale < 0:
                raise ValueError("negative")
            return x * scale

    scaled = Scaled()
    scaled.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True
    )
    scaled.register_forward_hook(
        lambda m, args, kwargs, out: log.append((kwargs, out.item())), with_kwargs=True
    )
    scaled.register_forward_hook(lambda m, args, out: log.append(("always", out is None)), always_call=True)
    log.append(scaled(torch.tensor(3.0), scale=2.0).item())
    log.append(attempt(lambda: scaled(torch.tensor(3.0), scale=-9.0)))
    with scaled.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True):
        log.append(attempt(lambda: scaled(torch.tensor(3.0), scale=2.0)))
    log.append(len(scaled._forward_pre_hooks))
    return log


@program
def full_backward_hooks(torch: Any) -> Any:
    log = []

    def note(name: str) -> Any:
        def hook(module: Any, grad_input: Any, grad_output: Any) -> None:
            log.append(
                (
                    name,
                    *[
                        [None if g is None else g.tolist() for g in grads]
                        for grads in (grad_input, grad_output)
                    ],
                )
            )

        return hook

    class Two(torch.nn.Module):
        def forward(self, x: Any, y: Any, flag: bool) -> Any:
            return x * 2, x * y

    module = Two()
    handle = module.register_full_backward_hook(note("full"))
    module.register_full_backward_pre_hook(lambda m, grads: log.append(("pre", len(grads))))
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    a, b = module(x, y, True)
    (a.sum() + b.sum()).backward()
    log.append(x.grad.tolist())
    module(x, y, True)[0].sum().backward()
    handle.remove()
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10, None, None))
    x.grad = None
    module(x, y, True)[0].sum().backward()
    log.append(x.grad.tolist())
    module.register_full_backward_hook(lambda m, gi, go: (gi[0],))
    log.append(attempt(lambda: module(x, y, True)[0].sum().backward()))
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    log.append(attempt(lambda: module(x, y, True)[0].sum().backward()))
    layer = torch.nn.Linear(1, 1, bias=False)
    layer.register_full_backward_hook(note("leafless"))
    layer(torch.ones(1, 1)).sum().backward()
    log.append(attempt(lambda: layer.register_backward_hook(note("old"))))
    layer.register_full_backward_hook(lambda m, gi, go: go)
    log.append(attempt(lambda: layer(torch.ones(1, 1)).sum().backward()))
    with torch.no_grad():
        log.append(layer(torch.ones(1, 1)).requires_grad)
    return log


@program
def pre_hook_replaces_grad_output(torch: Any) -> Any:
    layer = torch.nn.Linear(1, 1, bias=False)
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 5,))
    layer(torch.ones(1, 1)).sum().backward()
    return layer.weight.grad.tolist()


@program
def regular_backward_hooks(torch: Any) -> Any:
    layer, log = torch.nn.ReLU(), []
    layer.register_backward_hook(lambda m, gi, go: log.append((len(gi), [g.tolist() for g in go])))
    x = torch.ones(2, requires_grad=True)
    layer(x * 1).sum().backward()
    log.append(attempt(lambda: layer.register_full_backward_hook(lambda m, gi, go: None)))
    return log


@program
def global_hooks(torch: Any) -> Any:
    registers = torch.nn.modules.module
    log: list[Any] = []
    handles = [
        registers.register_module_forward_pre_hook(lambda m, args: log.append(("pre", type(m).__name__))),
        registers.register_module_forward_hook(lambda m, args, out: log.append(("post", type(m).__name__))),
        registers.register_module_full_backward_hook(
            lambda m, gi, go: log.append(("full", type(m).__name__))
        ),
        registers.register_module_full_backward_pre_hook(
            lambda m, go: log.append(("prefull", type(m).__name__))
        ),
        registers.register_module_parameter_registration_hook(lambda m, n, p: log.append(("p", n))),
        registers.register_module_buffer_registration_hook(lambda m, n, p: log.append(("b", n))),
        registers.register_module_module_registration_hook(lambda m, n, p: log.append(("m", n))),
    ]
    net(torch)
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    log.append(attempt(lambda: registers.register_module_backward_hook(lambda m, gi, go: None)))
    for handle in handles:
        handle.remove()
    size = len(log)
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    return [*log, len(log) == size]
