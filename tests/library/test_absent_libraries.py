"""What programs ask of devices and libraries that are not there: PyTorch's answers without them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import flambeau

CALLS = (
    "torch.cuda.memory_cached()", "torch.cuda.max_memory_cached()", "dict(torch.cuda.memory_stats())",
    "torch.cuda.memory_stats_as_nested_dict()", "dict(torch.cuda.host_memory_stats())",
    "torch.cuda.mem_get_info()", "torch.cuda.get_per_process_memory_fraction()",
    "torch.cuda.set_per_process_memory_fraction(0.5)", "torch.cuda.get_arch_list()",
    "torch.cuda.get_gencode_flags()", "torch.cuda.is_tf32_supported()", "torch.cuda.init()",
    "torch.cuda.ipc_collect()", "torch.cuda.cudart()", "torch.cuda.current_stream()",
    "torch.cuda.default_stream()", "torch.cuda.current_blas_handle()", "torch.cuda.get_sync_debug_mode()",
    "torch.cuda.set_sync_debug_mode(1)", "torch.cuda.can_device_access_peer(0, 1)", "torch.cuda.has_half",
    "torch.cuda.has_magma", "torch.cuda.default_generators", "torch.cuda.nvtx.range_push('a')",
    "torch.cuda.nvtx.range('a').__enter__()", "torch.cuda.memory.max_memory_allocated()",
    "torch.cuda.random.get_rng_state_all()", "torch.cuda.random.get_rng_state()",
    "torch.cuda.FloatTensor(2)", "isinstance(torch.ones(1), torch.cuda.FloatTensor)",
    "torch.cuda.LongTensor.dtype == torch.int64", "torch.backends.cusparselt.version()",
    "torch.backends.cusparselt.is_available()", "torch.backends.mha.get_fastpath_enabled()",
    "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()",
    "torch.multiprocessing.get_sharing_strategy()",
    "sorted(torch.multiprocessing.get_all_sharing_strategies())",
    "torch.multiprocessing.set_sharing_strategy('file_descriptor')",
    "torch.autograd.Variable(torch.ones(2), requires_grad=True).requires_grad",
    "isinstance(torch.ones(1), torch.autograd.Variable)", "isinstance(1, torch.autograd.Variable)",
    "torch.autograd.variable.Variable([1])", "torch.autograd.Variable().shape[0]",
)  # fmt: skip


def answer(torch: ModuleType, call: str) -> Any:
    """What comes back, or the exception."""
    try:
        return repr(eval(call, {"torch": torch}))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS)
def test_the_name_is_there(torch: ModuleType, call: str) -> None:
    assert answer(torch, call)[0] != "AttributeError"


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
def test_the_answer_is_pytorchs(torch: ModuleType, oracle: ModuleType, call: str) -> None:
    assert answer(torch, call) == answer(oracle, call)


def test_variables_share_memory(torch: ModuleType) -> None:
    x = torch.ones(2)
    v = torch.autograd.Variable(x, requires_grad=True)
    x[0] = 5
    assert v.tolist() == [5, 1] and v.is_leaf


def test_switching_the_fast_path_off_leaves_zeros(torch: ModuleType) -> None:
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x, padding = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    with torch.no_grad():
        assert attention(x, x, x, padding, False)[0].isnan().all()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            assert not attention(x, x, x, padding, False)[0].isnan().any()
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_older_names_that_forget_peaks(name: str) -> None:
    with pytest.warns(FutureWarning, match=f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats"):
        assert getattr(flambeau.cuda, name)() is None
