"""Submodules that PyTorch has loaded after ``import torch`` are there without an import of their own."""

import subprocess
import sys

import pytest

NAMES = ["_custom_ops", "_functorch", "_higher_order_ops", "_jit_internal", "_subclasses", "_tensor",
         "fx.experimental.proxy_tensor", "nn._reduction", "nn.common_types",
         "nn.utils._named_member_accessor", "optim._functional", "utils._contextlib", "utils._foreach_utils",
         "utils._python_dispatch"]


def test_they_are_attributes() -> None:
    lines = ["import flambeau as torch", *[f"torch.{name}.__name__" for name in NAMES]]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_other_names_are_missing() -> None:
    import flambeau
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = flambeau.utils.nothing


def test_what_goes_into_a_bug_report(capsys: pytest.CaptureFixture[str]) -> None:
    from flambeau.utils import collect_env
    from flambeau.version import __version__

    collect_env.main()
    printed = capsys.readouterr().out
    assert printed.startswith(
        f"Collecting environment information...\nPyTorch version: {__version__}\n")
    for line in ("Is CUDA available: False", "CPU:", "Versions of relevant libraries:", "[pip3] numpy=="):
        assert f"\n{line}" in printed
    assert collect_env.get_pretty_env_info() in printed


def test_marks_of_compatibility_change_nothing() -> None:
    from flambeau.fx._compatibility import compatibility

    assert compatibility(is_backward_compatible=True)(len) is len


def test_functions_can_ask_whether_they_are_traced() -> None:
    from flambeau import fx
    from flambeau.fx._symbolic_trace import is_fx_tracing

    told = []
    fx.symbolic_trace(lambda x: told.append(is_fx_tracing()))
    assert told == [True] and not is_fx_tracing()
