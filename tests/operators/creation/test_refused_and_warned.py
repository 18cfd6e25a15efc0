"""What PyTorch no longer takes, and of which arrays it warns."""

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.operators.creation import factories

CREATION = {"zeros": ((2,),), "ones": ((2,),), "empty": ((2,),), "rand": ((2,),), "randn": ((2,),),
            "full": ((2,), 1.0)}


@pytest.mark.oracle
@pytest.mark.parametrize("name", CREATION)
def test_dimensions_have_no_names(name: str, oracle: ModuleType) -> None:
    def found(torch: Any) -> str:
        with pytest.raises(TypeError) as error:
            getattr(torch, name)(*CREATION[name], names=("N",))
        return str(error.value).splitlines()[0]
    assert found(flambeau) == found(oracle)


@pytest.mark.parametrize("name, warns", [("from_numpy", True), ("as_tensor", True), ("asarray", True),
                                         ("tensor", False)])
def test_arrays_that_may_not_be_written(name: str, warns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factories, "warn_once", warnings.warn)      # as if it were the first time
    array = np.ones(2)
    array.setflags(write=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert getattr(flambeau, name)(array).tolist() == [1.0, 1.0]
    assert [str(w.message)[:41] for w in caught] == ["The given NumPy array is not writable, an"] * warns
