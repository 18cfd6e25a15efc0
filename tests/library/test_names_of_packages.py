"""Names that packages use of PyTorch's inside: each does what they expect of it."""

from __future__ import annotations

import copy
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau._higher_order_ops.associative_scan import associative_scan
from flambeau.distributed.tensor import DTensor, Partial, Replicate, Shard
from flambeau.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager


def test_a_tensors_dict_has_what_users_set_and_takes_what_they_write() -> None:
    p: Any = torch.nn.Parameter(torch.ones(2))
    p.tag = 1
    assert vars(p) == {"tag": 1}
    p.__dict__["more"] = 2
    p.__dict__.update(last=3)
    assert (p.more, p.last, p.__dict__.pop("tag"), hasattr(p, "tag")) == (2, 3, 1, False)
    assert (vars(pickle.loads(pickle.dumps(p))), vars(copy.deepcopy(p))) == ({"more": 2, "last": 3}, {})
    assert type(p)(p.to("meta"), **{**vars(torch.ones(1)), "requires_grad": False}).device.type == "meta"


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


def test_records_of_a_checkpoint_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(3.0)}, path)
    for source in (str(path), io.BytesIO(path.read_bytes())):
        reader = torch.PyTorchFileReader(source)
        assert reader.has_record("data.pkl") and not reader.has_record("x")
        assert "data/0" in reader.get_all_records() and reader.get_record_size("data/0") == 12
        storage = reader.get_storage_from_record("data/0", 12, torch.UntypedStorage)
        assert (tuple(storage.shape), storage.dtype) == ((0,), torch.uint8)
        assert storage.untyped_storage().nbytes() == 12
        with pytest.raises(RuntimeError, match="does not match expected size"):
            reader.get_storage_from_record("data/0", 12, torch.float32)
    with pytest.raises(RuntimeError, match="open file failed because of errno 2"):
        torch.PyTorchFileReader(str(tmp_path / "none"))


def test_quantized_types_are_names_without_tensors() -> None:
    assert (repr(torch.quint4x2), torch.qint32.itemsize, torch.qint8.is_floating_point) == (
        "torch.quint4x2", 4, False)
    assert pickle.loads(pickle.dumps(torch.quint8)) is torch.quint8
    with pytest.raises(NotImplementedError, match=r"no tensors of torch\.qint8"):
        torch.zeros(2, dtype=torch.qint8)
    with pytest.raises(NotImplementedError, match=r"no tensors of torch\.qint8"):
        torch.promote_types(torch.qint8, torch.float32)


SCANS: list[tuple[Any, Any, dict[str, Any], Any]] = [
    (lambda a, b: a + b, torch.arange(5.0), {"dim": 0}, [0.0, 1, 3, 6, 10]),
    (lambda a, b: a * b, torch.tensor([[1.0, 2], [3, 4]]), {"dim": 1, "reverse": True}, [[2.0, 2], [12, 4]]),
    (lambda a, b: a @ b, torch.ones(3, 2, 2), {"dim": 0},
     [[[1.0, 1], [1, 1]], [[2, 2], [2, 2]], [[4, 4], [4, 4]]]),
]


@pytest.mark.parametrize(("combine", "xs", "options", "expected"), SCANS)
def test_prefixes_are_combined(combine: Any, xs: Any, options: dict[str, Any], expected: Any) -> None:
    assert associative_scan(combine, xs, combine_mode="generic", **options).tolist() == expected


def test_a_recurrence_is_a_scan_with_gradients() -> None:
    decay, x = torch.full((2, 4), 0.5, requires_grad=True), torch.ones(2, 4)
    _, y = associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (decay, x), 1,
                            combine_mode="generic")
    assert y[0].tolist() == [1.0, 1.5, 1.75, 1.875]
    y.sum().backward()
    assert decay.grad[0].tolist() == [0.0, 1.75, 2.25, 1.75]
    with pytest.raises(ValueError, match="need to be on CUDA or XPU"):
        associative_scan(lambda a, b: a + b, x, 0)


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


def test_arguments_of_to_are_parsed() -> None:
    parse = torch._C._nn._parse_to
    assert parse(torch.float16) == (None, torch.float16, False, None)
    assert parse(torch.ones(1), True) == (torch.device("cpu"), torch.float32, True, None)


def test_swapped_tensors_swap_their_attributes() -> None:
    a, b = torch.zeros(2), torch.ones(3)
    a.tag = 1
    torch.utils.swap_tensors(a, b)
    assert (a.tolist(), b.tolist(), b.tag, vars(a)) == ([1.0, 1, 1], [0.0, 0], 1, {})


def test_a_class_with_another_base_replaces_its_attributes_alone() -> None:
    class Described:
        def describe(self, other: Any) -> None:
            self.__dict__ = dict(other.__dict__)

    class Known(Described, torch.Tensor):
        pass
    a, b = torch.ones(4).as_subclass(Known), torch.zeros(2, 2).as_subclass(Known)
    a.unit, b.other = "m", 1
    b.describe(a)
    assert (b.tolist(), vars(b)) == ([[0.0, 0], [0, 0]], {"unit": "m"})


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


def test_recurrent_layers_are_functions_of_vf() -> None:
    cell = torch.nn.LSTM(2, 3)
    x, start = torch.randn(4, 1, 2), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3))
    out = torch._VF.lstm(x, start, cell._flat_weights, True, 1, 0.0, False, False, False)
    torch.testing.assert_close(out[0], cell(x)[0])


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


def test_the_device_of_new_tensors_is_a_mode_and_a_decorator() -> None:
    from flambeau.utils._device import DeviceContext, device_decorator, set_device

    with DeviceContext("meta"):
        assert torch.ones(1).is_meta and not torch.ones(1, device="cpu").is_meta
    assert set_device("meta")(lambda: torch.ones(1))().is_meta
    assert device_decorator(lambda: torch.device("meta"), lambda: torch.ones(1))().is_meta


def test_older_names_of_reductions() -> None:
    from flambeau.nn import _reduction

    assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert _reduction.legacy_get_enum(False, True) == 2
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        _reduction.get_enum("x")


GRADIENT, RESULT = [[1.0, 0.0, 2.0]], [[0.5, 0.25, 0.25]]
LOWER = {       # names of functions that gradients written by hand and older programs call
    "_softmax_backward_data(g, y, 1, torch.float32)": [[0.0, -0.25, 0.25]],
    "_softmax_backward_data(g, y, 0, torch.float32)": [[0.25, 0.0, 0.375]],
    "_log_softmax_backward_data(g, torch.zeros(1, 3), -1, torch.float32)": [[-2.0, -3.0, -1.0]],
    "_shape_as_tensor(g)": [1, 3], "_cast_Long(g + 0.7)": [[1, 0, 2]], "_cast_Double(y)": RESULT,
}


@pytest.mark.parametrize("call", LOWER)
def test_functions_below_the_public_ones(call: str) -> None:
    names = {"torch": torch, "g": torch.tensor(GRADIENT), "y": torch.tensor(RESULT)}
    assert eval(f"torch.{call}", names).tolist() == LOWER[call]


@pytest.mark.parametrize(("output", "dtype", "message"), [
    (torch.ones(1, 2), torch.float32, r"\[1, 3\] does not equal \[1, 2\]"),
    (torch.ones(1, 3), torch.float16, "expected scalar type Float but found Half"),
])
def test_gradients_of_softmax_ask_for_what_fits(output: Any, dtype: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch._softmax_backward_data(torch.tensor(GRADIENT), output, 1, dtype)


def test_operators_of_triton_work_elsewhere() -> None:
    @torch.library.triton_op("test_names::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        return x * 3
    assert thrice(torch.ones(2)).tolist() == torch.ops.test_names.thrice(torch.ones(2)).tolist() == [3, 3]
    with pytest.raises(ModuleNotFoundError, match="triton"):
        torch.library.wrap_triton(lambda x: x)


def test_detach_gives_a_plain_tensor_where_overriding_is_off() -> None:
    class Own(torch.Tensor):
        pass
    x = torch.ones(2).as_subclass(Own)
    assert type(x.detach()) is Own
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x.detach()) is torch.Tensor


def test_normal_numbers_of_a_size_take_means_in_tensors() -> None:
    torch.manual_seed(0)
    wanted = torch.normal(1.0, 2.0, (5,))
    torch.manual_seed(0)
    assert torch.normal(torch.tensor(1.0), torch.tensor(2.0), (5,)).tolist() == wanted.tolist()
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.normal(torch.ones(1), torch.tensor(2.0), (5,))


def test_sizes_to_broadcast_to_may_be_numbers() -> None:
    x = torch.ones(3)
    assert x.broadcast_to(2, 3).shape == x.broadcast_to((2, 3)).shape == x.broadcast_to(size=(2, 3)).shape
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        torch.fft.rfft(torch.tensor(1.0))


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


def test_storages_are_instances_of_their_base() -> None:
    assert isinstance(torch.ones(1).untyped_storage(), torch.StorageBase)
    with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
        torch.StorageBase()


def test_a_device_by_its_keyword() -> None:
    named: Any = torch.device
    assert named(device="cuda:1") == torch.device("cuda", 1)
    assert named(device=torch.device("cpu")).type == "cpu"
    for wrong in ({"device": "cpu", "index": 1}, {"kind": "cpu"}):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            named(**wrong)


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


@pytest.mark.parametrize(("device", "options", "found"), [
    ("cuda:1", {}, 1), (3, {}, 3), ("cuda", {"optional": True}, None), (None, {"optional": True}, None),
    ("cpu", {"allow_cpu": True}, -1), ("cpu", {}, "Expected a non cpu device, but got: cpu"),
    ("cuda", {}, "with a specified index or an integer, but got:cuda"),
    (None, {}, "with a specified index or an integer, but got:None"),
])
def test_numbers_of_devices(device: Any, options: dict[str, bool], found: Any) -> None:
    from flambeau._utils import _get_device_index
    if isinstance(found, str):
        with pytest.raises(ValueError, match=found):
            _get_device_index(device, **options)
    else:
        assert _get_device_index(device, **options) == found


def test_tensors_are_taken_by_type_and_size() -> None:
    from flambeau._utils import _element_size, _take_tensors
    tensors = [torch.ones(4), torch.ones(3), torch.ones(2).double(), torch.ones(1)]
    assert [[x.numel() for x in taken] for taken in _take_tensors(tensors, 20)] == [[4], [3, 1], [2]]
    assert _element_size(torch.int16) == 2
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype([tensors], with_indices=True)
    assert {key[1]: positions for key, (_, positions) in groups.items()} == {
        torch.float32: [0, 1, 3], torch.float64: [2]}


def test_products_of_small_integers_have_32_bits() -> None:
    torch.manual_seed(0)
    a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((17, 40), (40, 5)))
    assert torch.equal(torch._int_mm(a, b), a.int() @ b.int())
    for wrong, words in (((a.float(), b), "self dtype to be int8 or uint8 but got float"),
                         ((a, b.int()), "mat2 dtype to be of type int8 but got int"),
                         ((a, b[:4]), r"self.size\(1\) needs to match mat2.size\(0\) but got 40 and 4"),
                         ((a[0], b), "self to be of dimension 2 but got 1")):
        with pytest.raises(RuntimeError, match=words):
            torch._int_mm(*wrong)


@pytest.mark.filterwarnings("ignore:.*assert_allclose:FutureWarning")
def test_the_older_comparison_bears_more() -> None:
    torch.testing.assert_allclose(torch.ones(2), [1.0, 1.00005])
    torch.testing.assert_allclose(torch.tensor([float("nan")]), torch.tensor([float("nan")]).double())
    with pytest.raises(AssertionError, match=r"up to 1e-05 allowed"):
        torch.testing.assert_allclose(torch.ones(2), torch.zeros(2))
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted"):
        torch.testing.assert_allclose(1, 1.0, rtol=0.1)


def test_classes_are_found_in_their_modules() -> None:
    from flambeau.cuda.amp.autocast_mode import autocast
    from flambeau.cuda.amp.grad_scaler import GradScaler
    from flambeau.profiler.profiler import ProfilerAction, profile
    assert (autocast, GradScaler) == (torch.cuda.amp.autocast, torch.cuda.amp.GradScaler)
    assert (profile, ProfilerAction) == (torch.profiler.profile, torch.profiler.ProfilerAction)


MASKS: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "boolean": ([True, False], {}, [-float("inf"), 0.0]),
    "numbers": ([1.0, 0.0], {}, [1.0, 0.0]),
    "unchecked": ([1.0, 0.0], {"other_type": torch.float64, "check_other": False}, [1.0, 0.0]),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_become_numbers_that_are_added(name: str) -> None:
    mask, options, expected = MASKS[name]
    given = {"other_type": None, "other_name": "other", "target_type": torch.float32, **options}
    found = torch.nn.functional._canonical_mask(torch.tensor(mask), "mask", **given)
    assert found is not None and (found.tolist(), found.dtype) == (expected, torch.float32)
    assert torch.nn.functional._canonical_mask(None, "mask", **given) is None
    with pytest.raises(AssertionError, match="only bool and floating types"):
        torch.nn.functional._canonical_mask(torch.tensor([1]), "mask", **given)
    with pytest.raises(RuntimeError, match="must be None or"):
        torch.nn.functional._none_or_dtype(3)   # type: ignore[arg-type]


def test_a_mask_of_another_dtype_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Support for mismatched mask and other is deprecated"):
        torch.nn.functional._canonical_mask(
            torch.tensor([True]), "mask", torch.float32, "other", torch.float64)


def test_vmap_under_its_old_name() -> None:
    from flambeau._vmap_internals import _vmap

    x = torch.arange(6.0).view(2, 3)
    assert _vmap(lambda row: row.sum())(x).tolist() == [3.0, 12.0]
    assert _vmap(lambda a, b: a * b, (None, 0), 1)(torch.ones(2), torch.ones(3)).shape == (2, 3)
    empty, kept = _vmap(lambda row: (None, row), allow_none_pass_through=True)(x)
    assert empty is None and kept.tolist() == x.tolist()


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
