"""A segmentation network of the user makes mattes; other networks are refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from app.engine.matting import model
from app.engine.matting.files import MatteError
from app.engine.matting.model import ModelMatte
from app.engine.matting.source import matte_source
from tests.helpers.errors import mentions

HEIGHT, WIDTH = 24, 32
FLOAT, BYTES = TensorProto.FLOAT, TensorProto.UINT8


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    given: tuple[int | str, ...],
    made: tuple[int | str, ...],
    kind: int = FLOAT,
    constants: Mapping[str, NDArray[np.generic]] | None = None,
) -> Path:
    """Write a network from "picture" to "mask"."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("picture", kind, given)],
        [helper.make_tensor_value_info("mask", FLOAT, made)],
        [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    return path


def red_is_person(path: Path, *, planar: bool = True) -> Path:
    """Write a network whose mask is the red channel."""
    axis = 1 if planar else 3
    shape = (1, 3, HEIGHT, WIDTH) if planar else (1, HEIGHT, WIDTH, 3)
    mask = (1, 1, HEIGHT, WIDTH) if planar else (1, HEIGHT, WIDTH, 1)
    ends = {name: np.array([value], np.int64)
            for name, value in (("from", 0), ("to", 1), ("axis", axis))}  # fmt: skip
    cut = helper.make_node("Slice", ["picture", "from", "to", "axis"], ["mask"])
    return save(path, [cut], shape, mask, constants=ends)


def half_red() -> NDArray[np.uint8]:
    frame = np.zeros((96, 128, 3), np.uint8)
    frame[:, 64:, 0] = 255
    return frame


@pytest.mark.parametrize("planar", [True, False], ids=["planar", "interleaved"])
def test_a_network_finds_the_person(tmp_path, planar):
    path = red_is_person(tmp_path / "red.onnx", planar=planar)
    source = matte_source(str(path))
    share = source.of(half_red(), 0.0, continues=False).at(half_red())
    assert source.trouble == ""
    assert share.shape == (96, 128)
    assert share[:, :58].max() < 0.05
    assert share[:, 70:].min() > 0.95


def test_a_network_of_bytes_gets_bytes(tmp_path):
    cast = helper.make_node("Cast", ["picture"], ["float"], to=FLOAT)
    mean = helper.make_node("ReduceMax", ["float"], ["most"], axes=[1], keepdims=1)
    over = helper.make_node("Div", ["most", "255"], ["mask"])
    path = save(
        tmp_path / "bytes.onnx",
        [cast, mean, over],
        (1, 3, HEIGHT, WIDTH),
        (1, 1, HEIGHT, WIDTH),
        BYTES,
        {"255": np.array(255, np.float32)},
    )
    share = ModelMatte(path).of(half_red(), 0.0, continues=False).at(half_red())
    assert share[:, :58].max() < 0.05
    assert share[:, 70:].min() > 0.95


@pytest.mark.parametrize("channels", [1, 2])
def test_logits_become_probabilities(tmp_path, channels):
    path = tmp_path / "logits.onnx"
    weight = np.zeros((channels, 3, 1, 1), np.float32)
    weight[-1, 0] = 2
    bias = np.zeros(channels, np.float32)
    bias[-1] = -1
    convolution = helper.make_node("Conv", ["picture", "weight", "bias"], ["mask"])
    save(
        path,
        [convolution],
        (1, 3, HEIGHT, WIDTH),
        (1, channels, HEIGHT, WIDTH),
        constants={"weight": weight, "bias": bias},
    )
    share = ModelMatte(path).of(half_red(), 0.0, continues=False).at(half_red())
    probable = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(share[:, :50], 1 - probable, atol=0.01)
    np.testing.assert_allclose(share[:, 78:], probable, atol=0.01)


def test_a_network_without_fixed_sizes_runs(tmp_path):
    mean = helper.make_node("ReduceMax", ["picture"], ["mask"], axes=[1], keepdims=1)
    sides = ("n", 3, "h", "w"), ("n", 1, "h", "w")
    path = save(tmp_path / "free.onnx", [mean], *sides)
    share = ModelMatte(path).of(half_red(), 0.0, continues=False).at(half_red())
    assert share[:, 70:].min() > 0.95


def _refusal(path: Path) -> str:
    with pytest.raises(MatteError) as error:
        ModelMatte(path)
    return str(error.value)


def test_a_file_that_is_no_network_is_refused(tmp_path):
    (tmp_path / "fake.onnx").write_bytes(b"weights")
    assert mentions(_refusal(tmp_path / "fake.onnx"), "fake.onnx", "ONNX")


def test_a_missing_file_is_refused(tmp_path):
    assert mentions(_refusal(tmp_path / "gone.onnx"), "gone.onnx")


def test_a_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "LARGEST_MB", 0)
    assert mentions(_refusal(red_is_person(tmp_path / "red.onnx")), "red.onnx", "MB")


@pytest.mark.parametrize("shape", [(1, 4, 24, 32), (2, 3, 24, 32), (3, 24, 32)], ids=str)
def test_a_network_for_something_else_is_refused(tmp_path, shape):
    same = helper.make_node("Identity", ["picture"], ["mask"])
    path = save(tmp_path / "other.onnx", [same], shape, shape)
    assert mentions(_refusal(path), "other.onnx", "x".join(map(str, shape)))


def test_a_network_that_returns_no_mask_is_refused(tmp_path):
    same = helper.make_node("Identity", ["picture"], ["mask"])
    shape = 1, 3, HEIGHT, WIDTH
    path = save(tmp_path / "style.onnx", [same], shape, shape)
    assert mentions(_refusal(path), "style.onnx", "1x3x24x32")


def test_a_mask_that_is_no_number_is_refused(tmp_path):
    mean = helper.make_node("ReduceMax", ["picture"], ["most"], axes=[1], keepdims=1)
    wrong = helper.make_node("Div", ["most", "most"], ["mask"])
    path = save(tmp_path / "nan.onnx", [mean, wrong], (1, 3, 24, 32), (1, 1, 24, 32))
    assert mentions(_refusal(path), "nan.onnx")


def test_two_inputs_are_refused(tmp_path):
    added = helper.make_node("Add", ["a", "b"], ["mask"])
    sides = [helper.make_tensor_value_info(name, FLOAT, (1, 3, 8, 8)) for name in ("a", "b")]
    mask = [helper.make_tensor_value_info("mask", FLOAT, (1, 3, 8, 8))]
    graph = helper.make_graph([added], "net", sides, mask)
    opset = [helper.make_opsetid("", 17)]
    path = tmp_path / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    assert mentions(_refusal(path), "two.onnx", "2")


def test_a_network_with_its_weights_in_another_file_is_refused(tmp_path):
    weight = np.ones((1, 3, 1, 1), np.float32)
    convolution = helper.make_node("Conv", ["picture", "weight"], ["mask"])
    path = save(
        tmp_path / "split.onnx",
        [convolution],
        (1, 3, 8, 8),
        (1, 1, 8, 8),
        constants={"weight": weight},
    )
    onnx.save(
        onnx.load(str(path)),
        str(path),
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    assert mentions(_refusal(path), "split.onnx")
