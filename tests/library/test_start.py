"""What ``import flambeau`` loads, and what waits until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import flambeau

# NumPy's modules that a star import would load, and parts that few programs use.
_WAITING = ("numpy.testing", "numpy.f2py", "numpy.ma", "numpy.fft", "numpy.polynomial", "llvmlite",
            "flambeau.distributions", "flambeau.hub", "flambeau.multiprocessing", "flambeau.testing")


def test_import_loads_no_more_than_a_start_needs() -> None:
    code = "import sys, flambeau; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [name for name in _WAITING if name in loaded] == []


@pytest.mark.parametrize("name", ["distributions", "hub", "masked", "multiprocessing", "signal", "testing"])
def test_what_waits_is_there(name: str) -> None:
    code = f"import flambeau as torch; print(torch.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"flambeau.{name}"


def test_kernels_find_numpys_modules() -> None:
    from flambeau.executors.interpreter import mathematics
    assert mathematics.fft.fft([1.0, 0.0])[1] == 1
    assert mathematics.linalg.det(np.diag([2.0, 2.0])) == pytest.approx(4.0)
    with pytest.raises(AttributeError, match="no fortran"):
        mathematics.fortran
    assert flambeau.fft.rfft(flambeau.ones(4))[0].item() == 4
