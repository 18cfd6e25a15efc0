"""Programs to trace: each function gets a framework and gives a module or function, and its arguments.

``describe`` says what a tracer made of one, in text that must be the same for PyTorch and flambeau.
"""


import contextlib
import io
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

PROGRAMS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {}


def program(build: Callable[[Any], tuple[Any, tuple[Any, ...]]]) -> Callable[[Any], Any]:
    """Put a program on the list."""
    PROGRAMS[build.__name__] = build
    return build


class Pair(NamedTuple):
    """Two values, with names."""

    first: Any
    second: Any


@program
def functions(torch):
    def f(x, y):
        return torch.relu(x) + torch.sigmoid(y).sum(dim=-1, keepdim=True)
    return f, (torch.ones(2, 3), torch.ones(2, 3))


@program
def methods(torch):
    def f(x):
        y = x.view(x.size(0), -1).transpose(0, 1).contiguous()
        return y.add_(1).clamp(min=0.5, max=2.0), x.shape[0], y.dtype
    return f, (torch.ones(2, 3),)


@program
def arithmetic(torch):
    def f(x, y):
        a = 1 + x - y * 2 / 3 // 4 % 5
        b = 2 ** x + x ** 2 + (1 - y) + 1 / y + (-x) + abs(y)
        return a @ b.T, (x > y) & (x != 0) | ~(y <= 1) ^ (x == y), x @ x.T >= 3
    return f, (torch.full((2, 2), 2.0), torch.full((2, 2), 3.0))


@program
def tensor_methods_named_as_functions(torch):
    return lambda x: torch.cat([x.relu(), x.softmax(-1)], dim=1).chunk(2, dim=1), (torch.ones(2, 3),)


@program
def indexing(torch):
    return lambda x: (x[0], x[:, 1:], x[..., None], x[::2, -1], x[:, [0, 1]]), (torch.ones(4, 3),)


@program
def defaults_and_keywords(torch):
    def f(x, scale=2.0, *, shift=None, name="a"):
        return torch.nn.functional.dropout(x * scale, p=0.25, training=False)
    return f, (torch.ones(3),)


@program
def variable_arguments(torch):
    def f(x, *others, **named):
        return x + others[0] + named["y"]
    return f, ()


@program
def structures(torch):
    def f(x):
        parts = torch.split(x, [1, 2], dim=0)
        return {"first": parts[0], "rest": [parts[1], (x, 1, None, True, "s")], "range": slice(None, 2)}
    return f, (torch.ones(3),)


@program
def named_tuple(torch):
    return lambda x: Pair(x.max(dim=0)[0], x.max(dim=0).values), (torch.ones(3, 2),)


@program
def constants(torch):
    weight = torch.arange(3.0)
    return lambda x: x * weight + weight.sum() + torch.zeros(3) + math.pi, (torch.ones(3),)


@program
def dtypes_and_devices(torch):
    def f(x):
        y = x.to(torch.float64).to(device=torch.device("cpu"), dtype=torch.int64)
        return torch.full_like(y, 3, dtype=torch.bool), x.to("cpu"), x.float(), x.max(), float("inf") * x
    return f, (torch.ones(3),)


@program
def sequential(torch):
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(),
                         nn.Linear(2 * 6 * 6, 3)).eval(), (torch.ones(2, 1, 8, 8),)


@program
def nested_modules(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.layers = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width)])
            self.scale = nn.Parameter(torch.full((width,), 0.5))
            self.register_buffer("shift", torch.ones(width))

        def forward(self, x):
            y = self.norm(x)
            for layer in self.layers:
                y = nn.functional.gelu(layer(y), approximate="tanh")
            return x + self.scale * y + self.shift * self.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.blocks = nn.Sequential(Block(4), Block(4))
            self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 1)})

        def forward(self, tokens, mask=None):
            y = self.blocks(self.embed(tokens))
            return {name: head(y).mean(dim=1) for name, head in self.heads.items()}

    torch.manual_seed(0)
    return Net(), (torch.tensor([[1, 2, 3]]),)


@program
def attention(torch):
    functional = torch.nn.functional

    def f(q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(4)
        n = q.shape[-2]
        mask = torch.tril(torch.ones(3, 3)).bool()
        weights = functional.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        return torch.einsum("bij,bjd->bid", weights, v), functional.scaled_dot_product_attention(q, k, v), n
    return f, (torch.ones(2, 3, 4),) * 3


@program
def shapes(torch):
    def f(x):
        b, c = x.size(0), x.size()[1]
        torch._assert(c == 3, "three columns")
        return x.reshape(b * c // 3, -1).expand(-1, 3).permute(1, 0), x.ndim, x.T, x.device
    return f, (torch.ones(2, 3),)


@program
def unused_values(torch):
    def f(x):
        y = x + 1
        torch.relu(y)
        x.add_(y)
        return None
    return f, (torch.ones(2),)


@program
def names_that_are_taken(torch):
    def f(input, self_, x_1, torch_1):
        add = input + 1
        add_1 = add + 2
        return torch.add(add_1, x_1) + self_.sum() + torch_1.max(input)
    return f, (torch.ones(2),) * 4


@program
def operators_by_function(torch):
    def f(x):
        return operator.add(x[0], 1), operator.itemgetter(0)((x, x)), x.grad_fn, x.shape
    return f, (torch.zeros(2),)


@program
def pooling_and_losses(torch):
    functional = torch.nn.functional

    def f(x, target):
        y = functional.layer_norm(functional.max_pool2d(x, 2), (2, 2))
        y = functional.batch_norm(y, torch.zeros(1), torch.ones(1), training=True).flatten(1)
        return functional.cross_entropy(functional.relu(y), target, label_smoothing=0.1)
    return f, (torch.arange(32.0).reshape(2, 1, 4, 4), torch.tensor([0, 1]))


@program
def tensors_first(torch):
    ones = torch.ones(2)

    def f(x):
        return ones + x, ones - x, ones / x, ones @ x, ones == x, ones.mul(x)
    return f, (torch.full((2,), 2.0),)


@program
def unpacking(torch):
    def f(x):
        low, high = x.chunk(2)
        return low * high
    return f, (torch.arange(4.0),)


@program
def annotations(torch):
    def f(x: torch.Tensor, n: int = 1, *, pair: tuple[int, ...] | None = None,
          rest: list[torch.Tensor] = (), kind: torch.dtype = torch.float32,
          either: int | None = None, any_: Any = None) -> tuple[torch.Tensor, int]:
        return x + n, n
    return f, (torch.ones(2),)


@program
def module_with_buffers(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("shift", torch.full((2,), 3.0))
            self.plain = torch.full((2,), 5.0)

        def forward(self, x):
            for _ in range(2):
                x = self.layer(x)
            if self.training:
                x = x * self.scale
            return x * self.scale.sum() + self.shift + self.plain + (self.shift + 1), self.layer.weight

    torch.manual_seed(0)
    return Net(), (torch.ones(2),)


def table(graph: Any) -> list[list[str]]:
    """The nodes of a graph as text, with who uses whom."""
    return [[node.op, node.name, str(node), target_text(node), str(node.args), str(node.kwargs),
             " ".join(n.name for n in node.users), " ".join(n.name for n in node.all_input_nodes),
             node.format_node()] for node in graph.nodes]


def target_text(node: Any) -> str:
    """A target by its name: where PyTorch keeps a function is its own affair."""
    return node.target if isinstance(node.target, str) else node.target.__name__


def numbers(result: Any) -> Any:
    """A result as something that JSON has."""
    if isinstance(result, dict):
        return {str(key): numbers(value) for key, value in result.items()}
    if isinstance(result, (tuple, list)):
        return [numbers(value) for value in result]
    if isinstance(result, float):
        return float(f"{result:.4g}")
    return numbers(result.tolist()) if hasattr(result, "tolist") else str(result)


def describe(torch: Any, name: str) -> dict[str, Any]:
    """What a framework says about one program."""
    root, inputs = PROGRAMS[name](torch)
    traced = torch.fx.symbolic_trace(root)
    found: dict[str, Any] = {"code": traced.code, "graph": str(traced.graph), "table": table(traced.graph)}
    found["readable"] = traced.print_readable(print_output=False)
    found["keys"] = list(traced.state_dict())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        traced.graph.print_tabular()
    found["tabular"] = [" ".join(line.split()[:2]) for line in printed.getvalue().splitlines()[2:]]
    traced.graph.lint()
    again = torch.fx.symbolic_trace(traced)
    found["traced again"] = again.code
    found["transformed"] = torch.fx.Transformer(traced).transform().code
    if inputs:
        found["result"] = numbers(traced(*inputs))
        found["interpreted"] = numbers(torch.fx.Interpreter(traced).run(*inputs))
    traced.graph.eliminate_dead_code()
    traced.recompile()
    found["without dead code"] = traced.code
    return found
