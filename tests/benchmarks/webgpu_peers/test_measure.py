"""Other runtimes are measured beside ours: alternately, from bytes to bytes, or with a reason."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import webgpu
from benchmarks.webgpu_peers import __main__ as writing
from benchmarks.webgpu_peers import onnx_webgpu, torch_eager
from benchmarks.webgpu_peers.measure import AT_A_TIME, OURS, PEERS, in_turns, peer_rows, versions
from benchmarks.webgpu_peers.models import STYLES, Models
from benchmarks.webgpu_peers.ncnn_vulkan import NcnnVulkan
from benchmarks.webgpu_peers.onnx_webgpu import OnnxWebGpu
from benchmarks.webgpu_peers.peer import OfBytes, OfPlanes, Painter, Peer, Picture, Size
from benchmarks.webgpu_peers.torch_eager import TorchEager
from models.checkpoints import load_checkpoint
from models.network_config import NetworkConfig
from models.runtimes.runtime import WRITERS, RuntimeFault
from tests.conftest import add_style
from tests.helpers.errors import mentions

LITE = STYLES / "candy" / "lite.safetensors"
GPU = "No Such GPU"
SMALL = NetworkConfig(num_residual_blocks=1, widths=(16, 32, 64), end_kernel=5)
WRITES = all(find_spec(name) for name in WRITERS)


@pytest.fixture
def picture() -> Picture:
    return webgpu.scene(32, 16)


class Fixed(Peer):
    """A peer that paints by a function, or has a reason not to."""

    packages = ("numpy", "no-such-package")

    def __init__(self, title: str, run: Any = None, why: str = "") -> None:
        self.title, self._run, self._why = title, run, why

    def missing(self, gpu: str) -> str:
        return self._why

    def open(self, models: Models, size: Size, *, half: bool, gpu: str) -> Painter:
        assert (size, half, gpu) == ((32, 16), True, GPU)
        if self._run is None:
            raise RuntimeFault("it refuses")
        return OfPlanes(self._run)


def rows_by(peers: list[Peer], picture: Picture, folder: Any, **options: Any) -> dict[str, Any]:
    rows = peer_rows(
        *(
            np.copy,
            Models(LITE, folder),
            picture,
            lambda made: webgpu.errors(made, picture.astype(np.float64)),
        ),
        **{"half": True, "gpu": GPU, "warmup": 1, "runs": 3, "peers": peers, **options},
    )
    return {row.pop("way"): row for row in rows}


def test_each_way_is_timed_from_bytes_to_bytes(picture, tmp_path):
    brighter = Fixed("brighter", lambda planes: planes + 1)
    found = rows_by([brighter], picture, tmp_path)
    assert list(found) == [OURS, "brighter"], "ours is first"
    assert found[OURS]["worst"] == 0
    assert "inside" not in found[OURS]
    row = found["brighter"]
    assert row["worst"] == 1
    assert 0 < row["wall"]["least"] <= row["wall"]["median"]
    assert 0 < row["inside"]["least"] <= row["wall"]["least"]
    assert row["opening"] >= 0


def test_a_way_that_does_not_run_has_a_reason_and_no_time(picture, tmp_path):
    absent, refusing = Fixed("absent", why="it is absent"), Fixed("refusing")
    found = rows_by([absent, refusing], picture, tmp_path)
    assert found["absent"] == {"not_run": "it is absent"}
    assert found["refusing"] == {"not_run": "it refuses"}
    cut = np.ascontiguousarray(picture[:, :30])
    assert "multiple of 4" in rows_by([Fixed("cut")], cut, tmp_path)["cut"]["not_run"]


def test_a_way_without_fp32_has_no_row_there(picture, tmp_path):
    only = Fixed("only in FP16", why="it is absent")
    only.storages = (True,)
    assert list(rows_by([only], picture, tmp_path)) == [OURS, only.title]
    assert list(rows_by([only], picture, tmp_path, half=False)) == [OURS]


def test_planes_round_and_clamp_to_bytes(picture):
    seen: list[Any] = []

    def run(planes):
        seen.append(planes)
        return np.stack([planes[:, 0] + 300, planes[:, 1] - 300, planes[:, 2] + 0.4], axis=1)

    made = OfPlanes(run)(picture)
    assert (seen[0].dtype, seen[0].shape) == (np.float32, (1, 3, 16, 32))
    assert (made[..., 0] == 255).all()
    assert (made[..., 1] == 0).all()
    assert (made[..., 2] == picture[..., 2]).all()


def test_the_ways_take_turns(picture):
    order: list[str] = []

    def painter(way: str) -> OfBytes:
        return OfBytes(lambda given: order.append(way) or given)

    found = in_turns({way: painter(way) for way in "abc"}, picture, warmup=2, runs=4)
    turns = order[::AT_A_TIME]
    assert order == [way for way in turns for _ in range(AT_A_TIME)]
    rounds = [turns[n : n + 3] for n in range(0, len(turns), 3)]
    assert [sorted(each) for each in rounds] == [["a", "b", "c"]] * 6
    assert len({tuple(each) for each in rounds}) > 1, "no way always follows the same one"
    assert set(found) == {"a", "b", "c"}


def test_peers_of_another_gpu_do_not_run(monkeypatch):
    eager = next(peer for peer in PEERS if isinstance(peer, TorchEager))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Another GPU")
    assert mentions(eager.missing(GPU), "Another GPU", GPU)
    assert eager.missing("Another GPU") == ""
    if find_spec("ncnn"):
        assert GPU in NcnnVulkan().missing(GPU)


@pytest.mark.parametrize(
    "eager",
    [each for each in PEERS if isinstance(each, TorchEager)],
    ids=lambda peer: peer.title,
)
def test_pytorch_paints_from_bytes_to_bytes(eager, picture, tmp_path, monkeypatch):
    monkeypatch.setattr(torch_eager, "CUDA", torch.device("cpu"))
    made = eager.open(Models(LITE, tmp_path), (32, 16), half=False, gpu="")(picture)
    exact = webgpu.in_float64(load_checkpoint(LITE), picture)
    assert made.flags.c_contiguous
    assert webgpu.errors(made, exact)["worst"] <= 1


@pytest.mark.skipif(find_spec("ncnn") is not None, reason="ncnn is installed here")
def test_a_missing_package_names_its_installation():
    assert mentions(NcnnVulkan().missing(GPU), "ncnn", "styleforge[peers]")


def test_versions_leave_out_absent_packages():
    assert list(versions([Fixed("one")])) == ["numpy"]


@pytest.mark.full
@pytest.mark.skipif(not WRITES, reason="the packages that write ONNX are missing")
@pytest.mark.slow
def test_models_are_converted_once_and_named_by_their_weights(tmp_path):
    add_style(tmp_path, "sketch", 0, SMALL)
    weights = tmp_path / "styles" / "sketch" / "weights.safetensors"
    path = Models(weights, tmp_path).onnx(half=True)
    assert path.name == f"sketch-weights-{webgpu.digest_of(weights)[:12]}-fp16.onnx"
    numbers = sum(math.prod(shape) for shape in SMALL.state_shapes().values())
    assert 2 * numbers < path.stat().st_size < 3 * numbers, "weights in FP16"
    other = Models(weights, tmp_path).onnx(half=True, half_norms=True)
    assert b"Cast" in path.read_bytes()
    assert other.read_bytes().count(b"Cast") < path.read_bytes().count(b"Cast")
    path.write_bytes(b"kept")
    assert Models(weights, tmp_path).onnx(half=True).read_bytes() == b"kept"


@pytest.mark.skipif(find_spec("pnnx") is not None, reason="pnnx is installed here")
def test_a_missing_converter_is_an_error(tmp_path, capsys):
    arguments = [str(tmp_path / "models"), "--networks", "lite"]
    assert writing.main(arguments) == 1
    assert mentions(capsys.readouterr().err, "pnnx", "styleforge[peers]")


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="ONNX Runtime is missing")
def test_an_onnx_runtime_without_webgpu_says_what_to_install():
    import onnxruntime

    if "WebGpuExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has WebGPU")
    assert "onnxruntime-webgpu" in OnnxWebGpu("").missing(GPU)


@pytest.mark.full
@pytest.mark.slow
def test_a_report_has_each_way_beside_ours(device, tmp_path):
    path = tmp_path / "report.json"
    arguments = ["--device", device.adapter.name, "--sizes", "16x16", "--networks", "lite"]
    assert (
        webgpu.main([*arguments, "--precisions", "fp32", "--runs", "1", "--json", str(path)]) == 0
    )
    report = json.loads(path.read_text("utf-8"))
    rows = {row["way"]: row for row in report["peers"]}
    assert list(rows) == [OURS, *(peer.title for peer in PEERS if False in peer.storages)]
    assert rows[OURS]["psnr"] > 80
    assert rows[OURS]["precision"] == "fp32"
    for way, row in rows.items():
        if "not_run" not in row:
            assert row["psnr"] > 80, way
    assert report["versions"]["torch"] == torch.__version__


class Session:
    """A session of a runtime that would compute on the CPU."""

    def __init__(self, path: str, options: Any, **chosen: Any) -> None:
        assert options.entries == {"session.disable_cpu_ep_fallback": "1"}
        assert options.sides == {"width": 32, "height": 16}
        assert chosen == {"providers": ["WebGpuExecutionProvider"], "enable_fallback": 0}

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]


class Options:
    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.sides: dict[str, int] = {}

    def add_session_config_entry(self, name: str, value: str) -> None:
        self.entries[name] = value

    def add_free_dimension_override_by_name(self, name: str, side: int) -> None:
        self.sides[name] = side


def test_onnx_runtime_never_computes_on_the_cpu(monkeypatch, tmp_path):
    faults = SimpleNamespace(Fail=type("Fail", (Exception,), {}))
    runtime = SimpleNamespace(
        SessionOptions=Options,
        InferenceSession=Session,
        get_available_providers=lambda: ["WebGpuExecutionProvider"],
        capi=SimpleNamespace(onnxruntime_pybind11_state=faults),
    )
    monkeypatch.setattr(onnx_webgpu, "_module", lambda: runtime)
    monkeypatch.setattr(Models, "onnx", lambda self, **_: tmp_path / "model.onnx")
    with pytest.raises(RuntimeFault, match="CPU"):
        OnnxWebGpu("").open(Models(LITE, tmp_path), (32, 16), half=False, gpu=GPU)
