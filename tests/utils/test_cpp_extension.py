"""Extensions cannot be built; packages that ask get an error that they can catch."""

import pytest

from flambeau.utils import cpp_extension


def test_extensions_cannot_be_loaded() -> None:
    with pytest.raises(RuntimeError, match="The extension 'fast' cannot be built"):
        cpp_extension.load(name="fast", sources=["fast.cpp"], verbose=True)
    with pytest.raises(RuntimeError, match="The extension 'fast' cannot be built"):
        cpp_extension.load_inline("fast", "int f() { return 1; }", functions=["f"])
    assert cpp_extension.CUDA_HOME is None
    if not cpp_extension.is_ninja_available():
        with pytest.raises(RuntimeError, match="Ninja is required"):
            cpp_extension.verify_ninja_availability()
