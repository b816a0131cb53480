"""The engine tunes the GPU that paints in small steps, and paints the same picture afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.process_mode import ProcessMode
from kernels.network.tuned import tuned_folder
from kernels.network.webgpu import kept_tiles, tiles, tuning
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.tiles import DEFAULT
from models.network_config import CONFIGS
from models.precision import Precision
from models.webgpu.tuning import is_tuned, network_for
from models.webgpu_devices import adapter_of, key_of, try_again
from tests.helpers.software_gpu import software_gpu

OTHER = replace(DEFAULT.halving, depth=4)


@pytest.fixture
def config(config):
    """The config of other tests with the lite network, whose shaders compile faster."""
    return replace(config, network="lite")


@pytest.fixture
def gpu(monkeypatch):
    """A software GPU with one other tile to try, which is always found to be faster."""
    candidates = dict[str, tuple[tiles.Tile, ...]]()
    for field in tiles.CANDIDATES:
        candidates[field] = (getattr(DEFAULT, field),)
    candidates["halving"] = DEFAULT.halving, OTHER
    for module in (tuning, kept_tiles):
        monkeypatch.setattr(module, "CANDIDATES", candidates)
    monkeypatch.setattr(tuning, "FASTER", float("inf"))
    yield software_gpu()
    try_again()


def tuned(engine):
    steps = 0
    while engine.tune():
        steps += 1
    return steps


@pytest.mark.full
def test_tuning_keeps_the_faster_tile_and_the_picture(engine, config, gpu, frame):
    engine.configure(replace(config, device=key_of(gpu)))
    before = engine.process(frame, ProcessMode.SEQUENCE).frame.pixels.astype(int)
    lite = CONFIGS["lite"]
    assert not is_tuned(lite, gpu, Precision.fp32)
    assert tuned(engine) > 3
    assert is_tuned(lite, gpu, Precision.fp32)
    assert not is_tuned(lite, gpu, Precision.fp16)
    assert network_for(lite, gpu, Precision.fp32).tiles == replace(DEFAULT, halving=OTHER)
    after = engine.process(frame, ProcessMode.SEQUENCE).frame.pixels
    assert np.abs(before - after).max() <= 1
    assert engine.tune() is None


def test_nothing_is_tuned_before_a_frame_or_on_the_cpu(engine, config, gpu, frame):
    assert engine.tune() is None
    engine.configure(replace(config, device="cpu"))
    engine.process(frame, ProcessMode.SEQUENCE)
    assert engine.tune() is None


@pytest.mark.full
def test_a_damaged_file_is_tuned_again(engine, config, gpu, frame, caplog):
    tuned_folder().mkdir(parents=True, exist_ok=True)
    (tuned_folder() / kept_tiles.NAME).write_text("{")
    engine.configure(replace(config, device=key_of(gpu)))
    engine.process(frame, ProcessMode.SEQUENCE)
    assert kept_tiles.NAME in caplog.text
    caplog.clear()
    assert tuned(engine) > 3
    assert kept_tiles.read(
        tuned_folder(), adapter_of(gpu), network_for(CONFIGS["lite"], gpu, Precision.fp32)
    ).network


def test_a_gpu_that_fails_while_it_is_tuned_is_given_up(engine, config, gpu, frame, monkeypatch):
    said = []
    engine.report_gpu_failures(said.append)
    engine.configure(replace(config, device=key_of(gpu)))
    engine.process(frame, ProcessMode.SEQUENCE)

    def fail(self):
        raise WebGpuError("lost")
        yield

    monkeypatch.setattr(tuning.Tuner, "steps", fail)
    assert engine.tune() is None
    assert len(said) == 1
    assert engine.process(frame, ProcessMode.SEQUENCE).running.device == "CPU"
