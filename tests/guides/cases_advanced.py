"""What the blocks of ``003_advanced.md`` must do."""

from __future__ import annotations

from typing import Any

from tests.guides.documents import Block
from tests.guides.registry import case

DOCUMENT = "003_advanced"


@case(DOCUMENT, "dynamic-rnn")
def chooses_the_cell_by_the_data(torch: Any, block: Block) -> None:
    taken: list[str] = []

    def cell(name: str, weight: Any) -> Any:
        def step(x: Any, hidden: Any) -> Any:
            taken.append(name)
            return torch.tanh(weight * hidden + x)

        return step

    a, b = torch.tensor(0.5, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    names = block.run(
        {
            "torch": torch,
            "hidden_size": 2,
            "threshold": 0.0,
            "complex_cell": cell("complex", a),
            "simple_cell": cell("simple", b),
        }
    )
    out = names["dynamic_rnn"](torch.tensor([[1.0, 2.0], [-1.0, -2.0], [0.5, 0.0]]))
    assert taken == ["complex", "simple", "complex"] and out.shape == (2,)
    out.sum().backward()
    assert a.grad.item() != 0 and b.grad.item() != 0
    a.grad = None
    names["dynamic_rnn"](torch.tensor([[-1.0, -2.0]] * 3)).sum().backward()
    assert a.grad is None, "a branch that was not taken has no gradient"


@case(DOCUMENT, "custom-function")
def uses_the_given_derivative(torch: Any, block: Block) -> None:
    names = block.run(
        {
            "torch": torch,
            "complicated_operation": lambda x: x.pow(3),
            "derivative_of_operation": lambda x: 3 * x.pow(2),
        }
    )
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(names["CustomFunction"].apply, (x,))
    wrong = block.run(
        {
            "torch": torch,
            "complicated_operation": lambda x: x.pow(3),
            "derivative_of_operation": lambda x: 2 * x.pow(2),
        }
    )
    try:
        torch.autograd.gradcheck(wrong["CustomFunction"].apply, (x,))
    except RuntimeError as error:  # GradcheckError
        assert "Jacobian mismatch for output 0 with respect to input 0" in str(error)
    else:
        raise AssertionError("gradcheck took a wrong derivative for right")


@case(DOCUMENT, "mixed-precision")
def steps_with_amp_off(torch: Any, block: Block) -> None:
    model = torch.nn.Linear(3, 2)
    before = model.weight.detach().clone()
    names = block.run(
        {
            "torch": torch,
            "model": model,
            "input": torch.randn(4, 3),
            "target": torch.randn(4, 2),
            "criterion": torch.nn.MSELoss(),
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.5),
        }
    )
    assert names["output"].dtype == torch.float32
    assert torch.allclose(model.weight, before - 0.5 * model.weight.grad)


@case(DOCUMENT, "script")
def saves_a_script(torch: Any, block: Block) -> None:
    model = torch.nn.Linear(3, 2)
    block.run({"torch": torch, "model": model})
    x = torch.randn(4, 3)
    assert torch.equal(torch.jit.load("deploy_model.pt")(x), model(x))


@case(DOCUMENT, "symbolic-trace")
def prints_the_calls(torch: Any, block: Block) -> None:
    import torch.fx

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.fc(x)) + 1

    names = block.run({"torch": torch, "model": Net()})
    assert block.output.count("Function call: ") == 2
    x = torch.randn(4, 3)
    assert torch.equal(names["traced"](x), torch.relu(names["traced"].fc(x)) + 1)
