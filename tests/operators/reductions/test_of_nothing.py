"""Reductions and searches of tensors without elements, as detectors meet them in images without objects."""

from __future__ import annotations

from types import ModuleType

import pytest

pytestmark = pytest.mark.oracle

EXPRESSIONS = (
    "z.topk(0)", "z.topk(0, sorted=False)", "z.topk(0)[0].sum()", "x[:0].topk(0, 0)", "x[:0].topk(0, 1)",
    "x[:, :0].topk(0)", "x[:, :0].topk(2, 0)", "x[:0].topk(2)", "x.topk(0)", "x.topk(0, 0, largest=False)",
    "torch.zeros(2, 0, 3, dtype=torch.int64).topk(0, 1)", "z.bfloat16().topk(0)",
    *[f"torch.linalg.{function}({matrix}, ord={order})" for function in ("norm", "matrix_norm")
      for matrix in ("x[:0]", "x[:, :0]", "torch.zeros(2, 0, 3)", "torch.zeros(0, 2, 3)")
      for order in ("1", "2", "float('inf')", "'nuc'", "'fro'")],
    "torch.linalg.matrix_norm(x[:0], ord=float('inf'), keepdim=True)",
    "torch.linalg.matrix_norm(x[:0], ord=2, keepdim=True)",
    "torch.linalg.cond(x[:0])",
    "torch.linalg.cond(x[:, :0], -2)", "torch.linalg.cond(torch.zeros(2, 0, 0), 'fro')",
    "torch.linalg.pinv(x[:0], torch.ones(1))", "torch.linalg.pinv(torch.zeros(2, 0, 4), torch.ones(2))",
    "torch.histogram(z, 2)", "torch.histogram(z, 2, range=(2., 2.))", "torch.histogram(x, 2, range=(3., 3.))",
    "torch.histogramdd(x[:0, :2], 2)[0]", "torch.histogramdd(x[:0, :2], 2)[1][1]",
    "torch.histogramdd(x[:, :2], 2, range=(1., 1., 0., 9.))[1][0]", "torch.histc(z, 3)",
    "torch.histc(torch.ones(2), 3, 2, 2)", "torch.histc(torch.ones(2), 3, 1, 1)",
)


def _shown(torch: ModuleType, expression: str) -> list[str]:
    x = torch.arange(12.).view(3, 4).requires_grad_("hist" not in expression)
    try:
        found = eval(expression, {"torch": torch, "x": x, "z": torch.zeros(0)})
        several = found if isinstance(found, tuple) else (found,)
        shown = [f"{tuple(one.shape)} {one.dtype} {one.requires_grad} {one.tolist()}" for one in several]
        if several[0].requires_grad:
            several[0].sum().backward()
            shown.append(str(x.grad.tolist()))
    except (RuntimeError, IndexError) as error:
        shown = [str(error)]
    return shown


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("source", [
    "torch.ones(0, 4)", "torch.ones(2, 3).t()", "torch.tensor([1, 2])", "torch.ones(1).expand(3)", "x",
    "torch.ones(2, 3, 1, 1).to(memory_format=torch.channels_last)"])
@pytest.mark.parametrize("options", ["", ", requires_grad=True", ", dtype=torch.int32",
                                     ", dtype=torch.int32, requires_grad=True"])
def test_copies_of_tensors(torch: ModuleType, oracle: ModuleType, source: str, options: str) -> None:
    told = []
    for library in (torch, oracle):
        names = {"torch": library, "x": library.ones(2, requires_grad=True)}
        try:
            made = eval(f"x.new_tensor({source}{options})", names)
            told.append(f"{made} {made.stride()} {made.is_leaf} {eval(source, names) is made}")
        except RuntimeError as error:
            told.append(str(error))
    assert told[0] == told[1]


@pytest.mark.parametrize("bins", [1, 3, 7, 10, 33])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_of_histograms(torch: ModuleType, oracle: ModuleType, bins: int, dtype: str) -> None:
    told = []
    for library in (torch, oracle):
        x = library.linspace(-0.3, 1.7, 2 * bins + 1, dtype=getattr(library, dtype))
        grid = library.histogramdd(library.stack([x, x * x], 1), [bins, 3])
        told.append([library.histogram(x, bins).hist.tolist(), library.histogram(x, bins).bin_edges.tolist(),
                     library.histogram(x, bins, range=(0.1, 0.9)).bin_edges.tolist(),
                     [edges.tolist() for edges in grid.bin_edges]])
    assert told[0] == told[1]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_are_pytorchs(torch: ModuleType, oracle: ModuleType, expression: str) -> None:
    assert _shown(torch, expression) == _shown(oracle, expression)
