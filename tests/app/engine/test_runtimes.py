"""Another runtime is a choice like our kernels: the display names what ran, and only that runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import EngineError
from models.precision import Precision
from models.runtimes.openvino import OpenVino
from models.runtimes.table import RUNTIMES
from models.transformer_net import IN_RUNTIMES
from tests.app.engine.conftest import shown


@pytest.mark.full
@pytest.mark.parametrize("kernels", ["openvino", "onnxruntime"])
def test_a_runtime_paints_what_we_paint_and_is_named(engine, config, frame, modules, kernels):
    ours = shown(engine, config, frame)
    theirs = shown(engine, replace(config, kernels=kernels), frame)
    assert modules[-1] is IN_RUNTIMES[kernels]
    apart = ours.frame.pixels.astype(int) - theirs.frame.pixels
    assert np.abs(apart).max() <= 1  # rounding
    runtime = RUNTIMES[kernels]
    assert theirs.running.kernels == runtime.title
    assert theirs.running.device == runtime.device_title()
    assert "CUDA" not in " ".join(theirs.running.limitations)

    compared = shown(engine, replace(config, kernels=kernels, compare=True), frame).comparison
    assert compared is not None
    assert (compared.baseline_title, compared.fused_title) == ("Fused", runtime.title)
    assert compared.agrees


def test_our_kernels_are_compared_with_the_baseline(engine, config, frame):
    compared = shown(engine, replace(config, compare=True), frame).comparison
    assert compared is not None
    assert (compared.baseline_title, compared.fused_title) == ("Baseline", "Fused")


def test_what_a_runtime_cannot_do_is_refused_and_the_config_stays(engine, config, frame):
    gone = replace(config, kernels="onnxruntime-coreml")
    if RUNTIMES[gone.kernels].refusal():
        with pytest.raises(EngineError, match="no CoreML"):
            engine.configure(gone)
    half = replace(config, kernels="onnxruntime", precision=Precision.fp16)
    with pytest.raises(EngineError, match=r"ONNX .*FP32 .*FP16"):
        engine.configure(half)
    assert engine.config == config
    assert engine.process(frame).running.kernels == "Fused"


def test_a_fault_of_the_runtime_is_an_error_and_not_another_network(
    engine, config, frame, monkeypatch
):
    engine.configure(replace(config, kernels="openvino"))
    monkeypatch.setattr(OpenVino, "refusal", lambda self, precision=None: "the device is gone")
    with pytest.raises(EngineError, match="the device is gone"):
        engine.process(frame)


def test_a_picture_that_needs_bands_is_refused(catalog, config, frame):
    from app.engine.engine import Engine

    engine = Engine(catalog, free=lambda device: 40e6)
    engine.configure(replace(config, kernels="onnxruntime", size=160))
    with pytest.raises(EngineError, match=r"ONNX .*bands of rows"):
        engine.process(frame)
