"""What packages import besides operators and layers: compile, jit, multiprocessing, hub, backends, hooks."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.operators import NAMESPACES


def test_compile() -> None:
    layer = flambeau.nn.Linear(2, 1)
    compiled = flambeau.compile(layer, mode="reduce-overhead")
    x = flambeau.ones(1, 2)
    assert flambeau.equal(compiled(x), layer(x))
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"] and compiled.in_features == 2
    compiled.eval()
    assert not layer.training and not compiled.training
    assert flambeau.compile(lambda x: x + 1)(x).tolist() == [[2.0, 2.0]]
    assert flambeau.compile(dynamic=True)(len)([1]) == 1
    assert not flambeau.compiler.is_compiling() and flambeau.compiler.disable(len) is len


def test_jit_gives_back_what_it_gets() -> None:
    jit = flambeau.jit
    assert jit.script(len) is len and jit.ignore(len) is len and jit.ignore(drop=True)(len) is len
    assert not jit.is_scripting() and not jit.is_tracing() and jit.annotate(list[int], []) == []
    assert jit.isinstance({"a": [1]}, dict[str, list[int]]) and not jit.isinstance(("a",), tuple[int])
    assert not hasattr(jit, "save")


def _note(rank: int, folder: str) -> None:
    if rank == 1 and folder == "fail":
        raise ValueError("rank one fails")
    if folder != "fail":
        (Path(folder) / str(rank)).touch()


def test_spawn(tmp_path: Path) -> None:
    flambeau.multiprocessing.spawn(_note, (str(tmp_path),), nprocs=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
    with pytest.raises(flambeau.multiprocessing.ProcessRaisedException, match="rank one fails"):
        flambeau.multiprocessing.spawn(_note, ("fail",), nprocs=2)


def test_hub_loads_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text('def tiny(n):\n    """A list."""\n    return [0] * n\n')
    hub = flambeau.hub
    assert hub.load(str(tmp_path), "tiny", 3, source="local") == [0, 0, 0]
    assert hub.list(str(tmp_path)) == ["tiny"] and hub.help(str(tmp_path), "tiny") == "A list."
    flambeau.save({"w": flambeau.ones(2)}, tmp_path / "model.pt")
    loaded = hub.load_state_dict_from_url(
        (tmp_path / "model.pt").as_uri(), model_dir=str(tmp_path / "cache"), progress=False
    )
    assert loaded["w"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(
            (tmp_path / "model.pt").as_uri(), str(tmp_path / "x"), "00000000", progress=False
        )
    assert not (tmp_path / "x").exists()


def test_backends_keep_their_switches() -> None:
    cudnn = flambeau.backends.cudnn
    with cudnn.flags(benchmark=True):
        assert cudnn.benchmark
    assert not cudnn.benchmark and not cudnn.is_available()


def test_nothing_communicates() -> None:
    assert not flambeau.distributed.is_available() and not flambeau.distributed.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        flambeau.distributed.get_rank()


def test_one_handle_that_pickles() -> None:
    handle = flambeau.nn.Linear(1, 1).register_forward_hook(print)
    on_tensor = flambeau.ones(1, requires_grad=True).register_hook(print)
    assert type(handle) is type(on_tensor) is flambeau.utils.hooks.RemovableHandle
    table: OrderedDict[int, Any] = OrderedDict()
    again = pickle.loads(pickle.dumps(flambeau.utils.hooks.RemovableHandle(table)))
    again.remove()


def test_functions_pickle() -> None:
    for namespace in ("torch", "Tensor", "nn.functional"):
        for name, function in NAMESPACES[namespace].items():
            assert pickle.loads(pickle.dumps(function)) is function, (namespace, name)


def test_flex_attention_is_attention() -> None:
    from flambeau.nn.attention.flex_attention import create_block_mask, flex_attention

    flambeau.manual_seed(0)
    q, k, v = (flambeau.randn(2, 4, 5, 8) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 5, 5)
    expected = flambeau.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    flambeau.testing.assert_close(flex_attention(q, k, v, block_mask=mask), expected)
    grouped = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    expected = flambeau.nn.functional.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    flambeau.testing.assert_close(grouped, expected)
