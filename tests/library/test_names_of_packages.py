"""Names that packages use of PyTorch's inside: each does what they expect of it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau.distributed.tensor import DTensor, Partial, Replicate, Shard
from flambeau.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager


def test_metaclasses_and_questions_of_old_places() -> None:
    from flambeau._jit_internal import _copy_to_script_wrapper
    from flambeau.nn.parameter import Parameter, _BufferMeta, _ParameterMeta
    assert isinstance(Parameter, _ParameterMeta) and isinstance(torch.nn.Buffer, _BufferMeta)
    assert issubclass(_ParameterMeta, torch._C._TensorMeta)
    assert torch.cuda.amp.common.amp_definitely_not_available()
    assert _copy_to_script_wrapper(len) is len


def test_classes_stay_classes_when_functions_are_overridden() -> None:
    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))
    with Seen():
        assert all(isinstance(kind, type) for kind in (
            torch.UntypedStorage, torch.TypedStorage, torch.layout, torch.memory_format,
            torch.linalg.LinAlgError))


def test_context_managers_decorate() -> None:
    seen: list[str] = []

    class Named(_DecoratorContextManager):
        def __init__(self, name: str) -> None:
            self.name = name

        def clone(self) -> Named:
            return Named(self.name)

        def __enter__(self) -> None:
            seen.append(self.name)

        def __exit__(self, *exc: object) -> None:
            seen.append("end")

    class Bare(_NoParamDecoratorContextManager):
        def __enter__(self) -> None:
            seen.append("bare")

        def __exit__(self, *exc: object) -> None:
            seen.append("end")

    @Named("a")
    @Bare
    def run() -> int:
        return 1
    assert run() == 1 and seen == ["a", "bare", "end", "end"]


def test_placements_are_values_and_nothing_is_distributed() -> None:
    assert (str(Shard(1)), str(Replicate()), str(Partial())) == ("S(1)", "R", "P(sum)")
    assert Shard(0).is_shard() and not Shard(0).is_shard(1)
    assert not isinstance(torch.ones(1), DTensor)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DTensor.from_local(torch.ones(1))


def test_names_of_tracing_say_that_nothing_is_traced() -> None:
    from flambeau import _C, _guards, _ops
    from flambeau._dynamo.utils import warn_once
    from flambeau._subclasses.fake_tensor import unset_fake_temporarily
    from flambeau.utils._triton import has_triton

    with unset_fake_temporarily() as mode:
        assert (mode, _C._is_tracing(), _guards.TracingContext.try_get(), _guards.detect_fake_mode([1]),
                has_triton()) == (None, False, None, None, False)
    with pytest.raises(TypeError, match=r"torch\._C\.Value: No constructor defined!"):
        _C.Value()
    with pytest.raises(TypeError, match=r"torch\._C\.ScriptMethod: No constructor defined!"):
        _C.ScriptMethod()
    with pytest.warns(UserWarning, match="once") as seen:
        warn_once("once")
        warn_once("once")
    assert len(seen) == 1
    assert isinstance(torch.ops.aten.relu.default, _ops.OpOverload)
    assert isinstance(torch.ops.aten.relu, _ops.OpOverloadPacket)
    x = torch.ones(3)
    assert _C._is_alias_of(x, x[1:]) and not _C._is_alias_of(x, x + 1)


def test_switches_of_the_code_generator_are_kept() -> None:
    from flambeau._inductor import config

    with config.patch(freezing=True):
        assert config.freezing
    config.triton.unique_kernel_names = True
    assert not config.freezing
    with pytest.raises(AttributeError, match="does not exist"):
        config.nothing_of_the_kind


def test_batches_are_pinned_through_their_containers() -> None:
    from collections import OrderedDict

    from flambeau.utils.data._utils.pin_memory import pin_memory

    class Own:
        def pin_memory(self) -> str:
            return "pinned"

    assert pin_memory(OrderedDict(a=Own(), b=[1, "s", (Own(), b"x")])) == OrderedDict(
        a="pinned", b=[1, "s", ("pinned", b"x")])
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        pin_memory([torch.ones(1)])


def test_operators_of_triton_work_elsewhere() -> None:
    @torch.library.triton_op("test_names::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        return x * 3
    assert thrice(torch.ones(2)).tolist() == torch.ops.test_names.thrice(torch.ones(2)).tolist() == [3, 3]
    with pytest.raises(ModuleNotFoundError, match="triton"):
        torch.library.wrap_triton(lambda x: x)


def test_bases_of_observers_and_fake_quantizers() -> None:
    from flambeau.ao.quantization import FakeQuantizeBase, ObserverBase

    class Rounds(FakeQuantizeBase):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.round() if self.fake_quant_enabled[0] else x

        def calculate_qparams(self, **kwargs: Any) -> Any:
            return 1.0, 0

    rounds = Rounds.with_args()()
    assert [name for name, _ in rounds.named_buffers()] == ["fake_quant_enabled", "observer_enabled"]
    assert rounds(torch.tensor([1.4])).item() == 1
    rounds.disable_fake_quant()
    rounds.disable_observer()
    assert rounds(torch.tensor([1.4])).item() != 1 and not rounds.observer_enabled.item()
    with pytest.raises(TypeError, match="abstract"):
        ObserverBase(torch.qint8)


def test_what_ends_a_launched_process_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.distributed import autograd
    from flambeau.distributed.elastic.multiprocessing.errors import record

    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def main(x: int) -> float:
        return 1 / x
    assert main(2) == 0.5
    with pytest.raises(ZeroDivisionError):
        main(0)
    message = json.loads((tmp_path / "error.json").read_text())["message"]
    assert message["message"] == "ZeroDivisionError: division by zero"
    assert "main" in message["extraInfo"]["py_callstack"]
    with pytest.raises(RuntimeError, match="Need to initialize distributed autograd"), autograd.context():
        pass


def test_checkpoints_know_whether_they_may_run_backward_again() -> None:
    told = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            told.append(torch.autograd._is_checkpoint_valid())
            return 2 * grad

    x = torch.ones(2, requires_grad=True)
    Doubled.apply(x).sum().backward()
    torch.autograd.grad(Doubled.apply(x).sum(), x)
    Doubled.apply(x).sum().backward(inputs=[x])
    assert told == [True, False, False] and torch.autograd._is_checkpoint_valid()


def test_accelerators_that_are_not_there_answer_what_can_be_answered() -> None:
    torch.xpu.empty_cache()
    torch.xpu.manual_seed_all(1)
    torch.mps.manual_seed(1)
    assert not torch.xpu.memory_allocated() and not torch.xpu.is_bf16_supported()
    assert torch.xpu.get_rng_state_all() == []
    for needs_one in (torch.xpu.synchronize, torch.xpu.current_device, torch.xpu.get_device_name):
        with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
            needs_one()
    with pytest.raises(RuntimeError, match=r"Cannot execute deviceSynchronize\(\) without MPS backend."):
        torch.mps.synchronize()


def test_classes_are_found_in_their_modules() -> None:
    from flambeau.cuda.amp.autocast_mode import autocast
    from flambeau.cuda.amp.grad_scaler import GradScaler
    from flambeau.profiler.profiler import ProfilerAction, profile
    assert (autocast, GradScaler) == (torch.cuda.amp.autocast, torch.cuda.amp.GradScaler)
    assert (profile, ProfilerAction) == (torch.profiler.profile, torch.profiler.ProfilerAction)


def test_fetchers_have_a_base() -> None:
    from flambeau.utils.data._utils import fetch

    found = fetch._MapDatasetFetcher([1, 2], True, list, False)
    assert isinstance(found, fetch._BaseDatasetFetcher) and found.fetch([0, 1]) == [1, 2]
    assert issubclass(fetch._IterableDatasetFetcher, fetch._BaseDatasetFetcher)
    with pytest.raises(NotImplementedError):
        fetch._BaseDatasetFetcher([1], True, list, False).fetch([0])


def test_names_of_except_clauses_and_defaults() -> None:
    from flambeau._dynamo.exc import BackendCompilerFailed, TorchDynamoException, Unsupported

    error = BackendCompilerFailed(len, ValueError("no"))
    assert isinstance(error, TorchDynamoException) and "ValueError: no" in str(error)
    assert issubclass(Unsupported, TorchDynamoException)
    assert torch.serialization.pickle is pickle
