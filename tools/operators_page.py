"""Write docs/operators.md: which of PyTorch's public names flambeau has.

    python tools/operators_page.py            writes the page
    python tools/operators_page.py --check    fails where the page is not what would be written

A name works when flambeau has it and it is not in ``PARTLY`` (differences that PyTorch's own operator samples
show). PyTorch's names are in docs/pytorch_names.json (``tools/record_pytorch_names.py``).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operators.md"
NAMES = ROOT / "docs" / "pytorch_names.json"

_TIES = "gradients of bfloat16 inputs with ties go to another of the equal elements"
_SINGULAR = "gradients of singular matrices are the cofactors; PyTorch's are 0 or rounding errors"
PARTLY = {
    "torch.as_strided_scatter": "the gradient goes to the elements that are kept; PyTorch's goes to those "
                                "that are overwritten",
    "torch.special.bessel_j0": "the last digits near zeros of the function differ",
    "torch.special.bessel_y1": "the last digits near zeros of the function differ",
    "torch.msort": _TIES,
    "torch.mode": _TIES,
    "torch.topk": _TIES,
    "torch.det": _SINGULAR,
    "torch.linalg.det": _SINGULAR,
    "torch.native_batch_norm": "running statistics in bfloat16 are rounded once less often",
}
# What absent names belong to, by how they are called (the first that fits), and why they are absent.
_GROUPS = (
    ("tensors of uneven lengths", "padded", "`torch.nested` is not there"),
    ("quantized tensors",
     "quantize_|^q_|qint|^QU?Int|qparams|qscheme|^per_(channel|tensor)|int_repr|_quantized"
     "|^quantized|fake_quant$",
     "they need element types with a scale, which are not built. Training for quantization works: "
     "`fake_quantize_*`"),
    ("element types of less than a byte, and bare bits",
     "^q?u?int\\d|^bits?\\d|^bit$|^float[48]_",
     "PyTorch has no operators for them, but for conversions"),
    ("kernels of one library or device", "^cudnn|^miopen|mkldnn|vulkan|fbgemm|scaled_|_cudnn|cudagraph"
     "|^batch_norm_|native_norm",
     "the functions that PyTorch runs them for work"),
    ("TorchScript and tracing",
     "Type$|^Script|JIT|^Graph|^Value$|^Use$|^Node$|^Block$|^Code$|Module|ExecutionPlan|ErrorReport"
     "|FileCheck|Capsule|^parse_|import_ir|Argument|Schema|type_list|type_comment|Alias|CallStack"
     "|CompilationUnit|Dispatch|Gradient|IODescriptor|Logger|Benchmark|PyTorchFile|Tracing|Context|DeepCopy"
     "|FatalError|OperatorInfo|Dict$|^Type$|^(AVG|SUM|AggregationType|classes)$|^ScriptList|^Script|^RRef"
     "|ListIterator|DictIterator|DictKey",
     "classes of the TorchScript compiler and of the C++ dispatcher, which are not there; programs meet them "
     "only through `torch.jit`"),
)


def namespace(path: str) -> Any:
    """flambeau's module or class of a name such as ``torch.linalg``."""
    sys.path.insert(0, str(ROOT))
    import flambeau.nn.functional
    found: Any = flambeau
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def reason(path: str, name: str) -> str | None:
    """What of a name does not work as in PyTorch; methods share the function's reason."""
    own = PARTLY.get(f"{path}.{name}")
    return PARTLY.get(f"torch.{name.rstrip('_')}") if own is None and path == "torch.Tensor" else own


def sorted_out(path: str, names: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The names that work, that work partly, and that are absent."""
    here = namespace(path)
    there = [n for n in names if hasattr(here, n)]
    partly = [n for n in there if reason(path, n)]
    return [n for n in there if n not in partly], partly, [n for n in names if n not in there]


def grouped(names: list[str]) -> dict[str, list[str]]:
    """Absent names by what they belong to."""
    groups: dict[str, list[str]] = {title: [] for title, _, _ in _GROUPS} | {"others": []}
    for name in names:
        groups[next((title for title, fits, _ in _GROUPS if re.search(fits, name)), "others")].append(name)
    return {title: found for title, found in groups.items() if found}


def listed(names: list[str]) -> str:
    """Names as a paragraph."""
    text = ", ".join(f"`{name}`" for name in names)
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def section(path: str, works: list[str], partly: list[str], absent: list[str]) -> str:
    """The part of the page about one namespace."""
    parts = [f"## {path}", "### Works", listed(works)]
    if partly:
        rows = [f"| `{name}` | {reason(path, name)} |" for name in partly]
        parts += ["### Partly", "\n".join(["| name | what differs |", "| --- | --- |", *rows])]
    if absent:
        parts.append("### Absent")
        reasons = {title: why for title, _, why in _GROUPS} | {"others": "not built"}
        for title, found in grouped(absent).items():
            heading = textwrap.fill(f"{title[0].upper() + title[1:]} ({reasons[title]}):", 118)
            parts.append(f"{heading}\n\n{listed(found)}")
    return "\n\n".join(parts)


def conformance() -> str:
    """What PyTorch's operator database shows: the figures of the ratchet, and what fails."""
    minimum, every, reasons = (json.loads((ROOT / "conformance" / f"{name}.json").read_text(encoding="utf-8"))
                               for name in ("ratchet", "totals", "failures"))
    rows = []
    for kind, passed in minimum.items():
        cells = [f"{passed[name]} of {every[kind][name]} | {passed[name] / every[kind][name]:.2%}"
                 for name in ("operators", "checks")]
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    head = ("Samples of PyTorch's own operator database, in the native tier and in the interpreter: operators"
            " of which all checks pass, and single checks. They never go down (`conformance/check.py`). The"
            " last three are counted where values are right. `conformance/vmap.py` compares `vmap` with a"
            " loop on the same samples: 98 % of the operators pass: all that PyTorch's takes but `resize_`.")
    titles = ["| checks | operators | | single checks | |", "| --- | ---: | ---: | ---: | ---: |"]
    failing = ["| operator | why |", "| --- | --- |", *[f"| `{n}` | {why} |" for n, why in reasons.items()]]
    tables = "\n".join([*titles, *rows]), "What fails:", "\n".join(failing)
    return "\n\n".join(["## Conformance", textwrap.fill(head, 118), *tables])


def page() -> str:
    """The whole page."""
    recorded = json.loads(NAMES.read_text(encoding="utf-8"))
    found = {path: sorted_out(path, names) for path, names in recorded["names"].items()}
    rows = [f"| {path} | {len(works)} | {len(partly)} | {len(absent)} |"
            for path, (works, partly, absent) in found.items()]
    totals = " | ".join(str(sum(len(kinds[i]) for kinds in found.values())) for i in range(3))
    head = "\n".join([
        "# Operators", "",
        f"PyTorch {recorded['version']}'s public names and what flambeau has of them. *Works* means that the",
        "name is there and nothing is known to differ, *partly* that something small does. Written by",
        "`tools/operators_page.py`; a test keeps it current.", "",
        "| namespace | works | partly | absent |", "| --- | ---: | ---: | ---: |", *rows,
        f"| all | {totals} |"])
    sections = [section(path, *kinds) for path, kinds in found.items()]
    return "\n\n".join([head, conformance(), *sections]) + "\n"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    current = PAGE.read_text(encoding="utf-8") == page()
    if not current:
        print("docs/operators.md is not current: run tools/operators_page.py")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
