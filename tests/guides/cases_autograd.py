"""What the blocks of ``004_autograd.md`` must do."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import types
from typing import Any

from tests.guides.documents import Block
from tests.guides.registry import case, raises

DOCUMENT = "004_autograd"


@case(DOCUMENT, "dynamic-graph")
def follows_the_branch(torch: Any, block: Block) -> None:
    names = block.run()
    example = names["dynamic_graph_example"]
    for use_tanh in (True, False):
        x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
        y = example(x, use_tanh)
        y.sum().backward()
        inner = (1 - torch.tanh(x**2) ** 2) * 2 * x if use_tanh else 2 * x
        assert torch.allclose(x.grad, 0.729 * inner + 0.1 * (1 + 0.9 + 0.81))
    assert block.output == "计算图节点数: 根据use_tanh参数和循环次数动态决定\n"


@case(DOCUMENT, "efficient-model")
def leaves_unused_parameters_alone(torch: Any, block: Block) -> None:
    block.run({"torch": torch})
    assert block.output == "".join(f"参数{i}梯度计算: {i < 2}\n" for i in range(5))


@case(DOCUMENT, "custom-sigmoid")
def agrees_with_the_built_in(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch})
    x, y = names["x"], torch.sigmoid(names["x"].detach())
    assert torch.allclose(names["y"], y) and torch.allclose(x.grad, y * (1 - y))
    first, second = block.output.splitlines()
    assert first == f"自定义Sigmoid梯度: {x.grad}" and second == f"内置Sigmoid梯度: {names['x2'].grad}"
    z = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(names["custom_sigmoid"], (z,))
    assert torch.autograd.gradgradcheck(names["custom_sigmoid"], (z,))


@case(DOCUMENT, "hessian-vector-product")
def agrees_with_differences_of_gradients(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch})
    assert block.output == "Hessian-向量积计算完成,长度: 4\n"
    model = names["model"].double()
    data, target = names["data"].double(), names["target"]
    vector = [v.double() for v in names["vector"]]
    product = names["compute_hessian_vector_product"](model, data, target, vector)
    assert all(not h.requires_grad for h in product)
    step = 1e-6

    def gradients(sign: int) -> Any:
        with torch.no_grad():
            for p, v in zip(model.parameters(), vector):
                p.add_(v, alpha=sign * step)
        loss = torch.nn.functional.cross_entropy(model(data), target)
        found = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, v in zip(model.parameters(), vector):
                p.sub_(v, alpha=sign * step)
        return found

    for h, above, below in zip(product, gradients(1), gradients(-1)):
        assert torch.allclose(h, (above - below) / (2 * step), rtol=1e-4, atol=1e-6)


@case(DOCUMENT, "checkpointing")
def reaches_every_layer(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch})
    assert block.output == "", "no GPU, so nothing is said about its memory"
    grads = [p.grad for p in names["model"].parameters()]
    assert len(grads) == 120 and all(g is not None for g in grads)
    assert names["input_tensor"].grad.shape == (16, 512)
    small = names["DeepNetwork"](num_layers=2, hidden_size=6)
    x = torch.randn(3, 6, requires_grad=True)
    small(x).sum().backward()
    got = [x.grad.clone(), *(p.grad.clone() for p in small.parameters())]
    x.grad = None
    small.zero_grad()
    hidden = x
    for layer in small.layers:
        hidden = layer.linear2(layer.activation(layer.linear1(hidden)))
    hidden.sum().backward()
    for a, b in zip(got, [x.grad, *(p.grad for p in small.parameters())]):
        assert torch.allclose(a, b, atol=1e-6)


@case(DOCUMENT, "in-place")
def refuses_to_write_a_leaf(torch: Any, block: Block) -> None:
    message = "a leaf Variable that requires grad is being used in an in-place operation."
    with raises(RuntimeError, message):
        block.run({"torch": torch})


@case(DOCUMENT, "in-place")
def the_safe_way_has_no_leaves(torch: Any, block: Block) -> None:
    before = torch.Tensor.add_
    torch.Tensor.add_ = lambda self, other: self  # lets the function get past the line that it warns of
    try:
        block.run({"torch": torch})
    finally:
        torch.Tensor.add_ = before
    assert block.output == ("原位操作梯度计算成功\n安全方式 - x梯度: None\n安全方式 - y梯度: None\n"), (
        "the clones descend from x and y, whose gradients they pass on instead of keeping them"
    )


@case(DOCUMENT, "trace-graph")
def names_the_nodes(torch: Any, block: Block) -> None:
    names = block.run({"torch": torch})
    lines = block.output.splitlines()
    assert lines[:2] == ["计算图节点信息:", "x requires_grad: True"]
    for line, (tensor, node) in zip(
        lines[2:6],
        [
            ("y", "AddBackward0"),
            ("h_masked", "MulBackward0"),
            ("h_relu", "ReluBackward0"),
            ("h", "MmBackward0"),
        ],
    ):
        assert line.startswith(f"{tensor} grad_fn: <{node} object at 0x"), line
    assert lines[6:11] == [
        "",
        "梯度检查:",
        "x.grad is None: False",
        "W.grad is None: False",
        "b.grad is None: False",
    ]
    assert " 形状: torch.Size([3, 4])" in lines
    names["loss"].backward()  # the graph was kept


@case(DOCUMENT, "gradient-check")
def needs_a_scalar(torch: Any, block: Block) -> None:
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        block.run({"torch": torch})


@case(DOCUMENT, "gradient-check")
def writes_into_a_view_of_a_leaf(torch: Any, block: Block) -> None:
    names: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    definitions = block.source.rsplit("gradient_check(", 1)[0]
    exec(definitions, names)
    cubic = names["cubic_activation"]
    with raises(
        RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation."
    ):
        names["gradient_check"](lambda x: cubic(x).sum(), None, (2, 2))


@case(DOCUMENT, "gradient-check")
def finds_the_gradient_right_without_recording(torch: Any, block: Block) -> None:
    names: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    exec(block.source.rsplit("gradient_check(", 1)[0], names)
    cubic = names["cubic_activation"]
    asked: list[int] = []
    guard = torch.no_grad()

    def total(x: Any) -> Any:
        asked.append(1)
        value = cubic(x).sum()
        if len(asked) == 1:  # the analytic half is done by the first call, differences need no graph
            backward = value.backward

            def once(*args: Any) -> None:
                backward(*args)
                guard.__enter__()

            value.backward = once
        return value

    torch.set_default_dtype(torch.float64)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            result = names["gradient_check"](total, None, (3, 3))
    finally:
        guard.__exit__(None, None, None)
        torch.set_default_dtype(torch.float32)
    assert result is True and "✓ 梯度计算正确" in out.getvalue() and len(asked) == 19


@case(DOCUMENT, "distributed-gradients")
def reduces_in_one_process(torch: Any, block: Block) -> None:
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        _clips_and_clears(torch, block)
    finally:
        dist.destroy_process_group()


@case(DOCUMENT, "distributed-gradients")
def clips_and_clears_without_a_group(torch: Any, block: Block) -> None:
    stand_in: Any = types.ModuleType("torch.distributed")
    stand_in.all_reduce = lambda tensor, op: None
    stand_in.get_world_size = lambda: 1
    stand_in.ReduceOp = types.SimpleNamespace(SUM=0)
    absent = object()
    module, attribute = sys.modules.get("torch.distributed"), getattr(torch, "distributed", absent)
    sys.modules["torch.distributed"] = torch.distributed = stand_in
    try:
        _clips_and_clears(torch, block)
    finally:
        sys.modules.pop("torch.distributed")
        if module is not None:
            sys.modules["torch.distributed"] = module
        if attribute is absent:
            del torch.distributed
        else:
            torch.distributed = attribute


def _clips_and_clears(torch: Any, block: Block) -> None:
    """Run the training step once; the norm is clipped to 1 and the buffers are kept when cleared."""
    names = block.run({"torch": torch})
    model = torch.nn.Linear(10, 3)
    handler = names["DistributedGradientHandler"](model, torch.device("cpu"))
    data, target = 30 * torch.randn(16, 10), torch.randint(0, 3, (16,))
    names["distributed_training_step"](model, data, target, handler)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
    assert abs(norm - 1) < 1e-4
    buffers = [p.grad.data_ptr() for p in model.parameters()]
    handler.zero_grad_with_optimization()
    assert [p.grad.data_ptr() for p in model.parameters()] == buffers
    assert all(p.grad.abs().sum().item() == 0 for p in model.parameters())
