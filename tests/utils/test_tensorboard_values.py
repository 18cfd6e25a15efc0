"""What TensorBoard's writer takes for a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau as torch


@pytest.mark.parametrize(("value", "error", "message"), [
    ("bar", ValueError, "could not convert string to float"),
    (None, NotImplementedError, "Got <class 'NoneType'>, but numpy array or torch tensor are expected."),
    ([3.0], NotImplementedError, "Got <class 'list'>, but numpy array or torch tensor are expected."),
    (torch.ones(2), AssertionError, "Was given size: 2 and 1 dimensions."),
])
def test_what_is_no_number(value: Any, error: type[Exception], message: str) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import summary
    with pytest.raises(error, match=message):
        summary.scalar("loss", value)


def test_numbers() -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import summary
    for value in (1, 1.0, True, np.float32(1), np.ones((1, 1)), torch.ones(1)):
        assert summary.scalar("loss", value).value[0].simple_value == 1


def test_precision_and_recall() -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import curves
    labels, predictions = torch.tensor([0, 1, 1, 0, 1.0]), torch.tensor([0.1, 0.9, 0.4, 0.6, 0.7])
    value = curves.precision_recall_of("pr", labels, predictions, 5, None).value[0]
    expected = [[3, 3, 2, 1, 0], [2, 1, 1, 0, 0], [0, 1, 1, 2, 2], [0, 0, 1, 2, 3],
                [0.6, 0.75, 2 / 3, 1, 0], [1, 1, 2 / 3, 1 / 3, 0]]
    np.testing.assert_allclose(value.tensor.float_val, np.ravel(expected), rtol=1e-6)
    shown = value.metadata.plugin_data
    assert (shown.plugin_name, shown.content) == ("pr_curves", b"\x10\x05")
    weighed = curves.counts_and_rates(labels, predictions, 5, np.array([1, 2, 1, 0.5, 1]))
    assert (weighed[0].tolist(), weighed[1].tolist()) == ([4, 4, 3, 2, 0], [1.5, 0.5, 0.5, 0, 0])


def test_charts_of_several_numbers() -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import curves
    layout = {"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", ["x", "y", "z"]]}}
    assert curves.charts(layout).value[0].tensor.string_val[0] == (
        b"\x12\"\n\x01a\x12\x0b\n\x01b\x12\x06\n\x01x\n\x01y\x12\x10\n\x01c\x1a\x0b\n\t\n\x01x\x12\x01y\x1a\x01z")
    with pytest.raises(AssertionError, match="three numbers"):
        curves.charts({"a": {"b": ["Margin", ["x"]]}})


def test_points_with_labels_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from flambeau.utils.tensorboard import SummaryWriter
    points = torch.arange(6.0).view(3, 2)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(points, ["a", "b", "c"], tag="x/y", global_step=2)
        writer.add_embedding(points, [["a", 1], ["b", 2], ["c", 3]], metadata_header=["n", "k"])
        with pytest.raises(AssertionError, match="#labels should equal with #data points"):
            writer.add_embedding(points, ["a"], tag="few")
        with pytest.raises(AssertionError, match="mat should be 2D"):
            writer.add_embedding(points[0], tag="flat")
    texts = {name: (tmp_path / name).read_text() for name in (
        "00002/x%2fy/tensors.tsv", "00002/x%2fy/metadata.tsv", "00000/default/metadata.tsv",
        "projector_config.pbtxt")}
    assert list(texts.values())[:3] == [
        "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n", "a\nb\nc\n", "n\tk\na\t1\nb\t2\nc\t3\n"]
    assert texts["projector_config.pbtxt"].startswith('embeddings {\n  tensor_name: "x/y:00002"\n')
    assert texts["projector_config.pbtxt"].count("embeddings {") == 2
