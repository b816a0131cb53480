"""The description of a run is built once, and rebuilt when anything in it changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.run_info import LatestRunInfo, run_info
from app.engine.style_weights import StyleWeights
from kernels.jit import build
from models.precision import Precision

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture
def frame(catalog, monkeypatch):
    """Return the arguments that describe how a frame is computed."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: "a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (9, 0))
    monkeypatch.setitem(build._reasons, "instance_norm", "")
    config = EngineConfig("candy", kernels="norm", device="cpu")
    weights = StyleWeights(catalog)
    weights.choose(config)
    return {
        "config": config,
        "device": CPU,
        "precision": config.precision,
        "active": weights.active(lite=False),
        "reasons": (),
    }


def test_frames_of_one_config_share_a_description(frame):
    described, latest = run_info(**frame), LatestRunInfo()  # looks for its libraries once
    info = latest.get(**frame)
    assert info == described
    assert latest.get(**frame) is info
    assert latest.get(**frame | {"config": replace(frame["config"])}) is info


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"config": EngineConfig("candy", kernels="baseline", device="cpu")}, "Baseline, FP32"),
        ({"device": GPU}, "a GPU (cuda:0)"),
        ({"precision": Precision.bf16}, "BF16, CPU: FP32 gave a broken picture"),
        ({"reasons": ("it is slow",)}, "it is slow"),
    ],
    ids=["config", "device", "precision", "reason"],
)
def test_the_next_frame_tells_what_has_changed(changed, told, frame):
    latest = LatestRunInfo()
    before = latest.get(**frame)
    after = latest.get(**frame | changed)
    assert told not in str(before)
    assert told in str(after)
    assert after == run_info(**frame | changed)
    assert latest.get(**frame) == before


def test_what_runs_is_said_with_the_remark_of_its_precision(frame):
    config = replace(frame["config"], precision=Precision.int8)
    info = run_info(**frame | {"config": config, "device": GPU, "precision": Precision.int8})
    assert Precision.int8.remark(GPU) in info.limitations
    assert Precision.int8.remark(GPU)


def test_a_refused_precision_is_told_with_the_reason_and_not_as_broken(frame):
    config = replace(frame["config"], precision=Precision.amp)
    info = run_info(**frame | {"config": config, "precision": Precision.fp32})
    assert Precision.amp.refusal(CPU) in info.limitations
    assert "broken" not in str(info)


def test_the_next_frame_tells_of_the_weights_that_it_has(frame):
    latest = LatestRunInfo()
    assert latest.get(**frame).style == "Candy"
    other = replace(frame["active"], label="Mosaic", remarks=("made again",))
    after = latest.get(**frame | {"active": other})
    assert after.style == "Mosaic"
    assert "made again" in after.limitations


def test_the_next_frame_tells_of_kernels_that_became_ready(frame, monkeypatch):
    latest = LatestRunInfo()
    monkeypatch.setitem(build._reasons, "instance_norm", build.BUILDING)
    assert any(build.BUILDING in told for told in latest.get(**frame).limitations)
    monkeypatch.setitem(build._reasons, "instance_norm", "")
    assert not any(build.BUILDING in told for told in latest.get(**frame).limitations)
    monkeypatch.setitem(build._reasons, "instance_norm", "no compiler")
    assert any("no compiler" in told for told in latest.get(**frame).limitations)


def test_a_description_that_fails_is_not_kept(frame, monkeypatch):
    latest = LatestRunInfo()
    before = latest.get(**frame)

    def fails(*_given):
        raise RuntimeError("lost")

    with monkeypatch.context() as lost:
        lost.setattr("app.engine.run_info.painting_title", fails)
        with pytest.raises(RuntimeError, match="lost"):
            latest.get(**frame | {"reasons": ("it is slow",)})
    assert latest.get(**frame) == before
    assert "it is slow" in str(latest.get(**frame | {"reasons": ("it is slow",)}))


def test_the_next_frame_tells_that_the_reference_smooths(frame, monkeypatch):
    told = "smoothing runs on NumPy and OpenCV: no compiler"
    monkeypatch.setitem(build._reasons, "smoothing", "no compiler")
    latest, smoothed = LatestRunInfo(), replace(frame["config"], smoothing=0.5)
    assert told not in latest.get(**frame).limitations
    assert told in latest.get(**frame | {"config": smoothed}).limitations
    monkeypatch.setitem(build._reasons, "smoothing", "")
    assert told not in latest.get(**frame | {"config": smoothed}).limitations
