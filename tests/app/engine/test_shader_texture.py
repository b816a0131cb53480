"""Shaders add texture to live streams that a GPU paints, and the CPU adds it to films."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from app.engine import resolution
from app.engine.process_mode import ProcessMode
from app.engine.texture import Texture
from app.engine.texture.shaders import ShaderTexture
from app.frame import Frame
from kernels.frames.combing import Comb
from kernels.network.webgpu.device import Copy
from models.webgpu.network import WebGpuNetwork
from models.webgpu_devices import give_up, key_of, opened, try_again
from tests.helpers.daily import some_daily
from tests.helpers.software_gpu import software_gpu
from tests.kernels.frames.test_texture import views
from utils.stroke_directions import FOLLOW

LIVE, SEQUENCE = ProcessMode.LIVE, ProcessMode.SEQUENCE
AMOUNT = 0.7


@pytest.fixture
def gpu():
    yield key_of(software_gpu())
    try_again()


@pytest.fixture
def on_gpu(config, gpu):
    """A config with texture on the GPU; the lite network's shaders compile faster."""
    return replace(
        config, network="lite", device=gpu, texture=AMOUNT, strokes_direction="none", size=96
    )


@pytest.fixture
def uploaded(monkeypatch):
    """Return the pictures that networks receive: as they are uploaded, and with texture."""
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    start = WebGpuNetwork.start

    def watched(self, picture, before=lambda picture: (), pieces_from=math.inf):
        device = opened(software_gpu())
        buffer, memory = device.allocate(picture.size), device.readback(picture.size)
        device.write(buffer, picture)
        device.submit([before(buffer)], [Copy(buffer, memory)])
        with memory.read() as written:
            textured = written[: picture.size].reshape(picture.shape).copy()
        seen.append((picture, textured))
        return start(self, textured, pieces_from=pieces_from)

    monkeypatch.setattr(WebGpuNetwork, "start", watched)
    return seen


def frames(count: int) -> list[Frame]:
    return [Frame(np.ascontiguousarray(view // 4 + 90)) for view in views(3.0, 1.0, count)]


def paint(engine, given, mode=LIVE):
    """Paint frames of a stream on the GPU, when its shaders are compiled."""
    end = time.monotonic() + 60
    pending = None
    while mode is LIVE and pending is None:
        assert time.monotonic() < end
        pending = engine.begin(given[0], mode)
    if pending is not None:
        engine.complete(pending)
    engine.reset_history()
    painted = []
    for each in given:
        pending = engine.begin(each, mode)
        assert pending is not None
        painted.append(engine.complete(pending))
    return painted


def assert_alike(seen, amount=AMOUNT, comb=None):
    """Require the texture of the CPU on uploaded pictures of one size."""
    texture = Texture()
    for clean, textured in seen:
        (expected,) = texture.apply((clean,), amount, continues=True, comb=comb)
        assert np.abs(textured.astype(int) - expected).max() <= 1
        assert (textured != clean).mean() > 0.2


@pytest.mark.parametrize("direction", some_daily(["none", FOLLOW], 1))
def test_a_live_stream_has_its_texture_by_shaders(engine, on_gpu, uploaded, direction):
    engine.configure(replace(on_gpu, strokes_direction=direction, strokes_length=0.5))
    painted = paint(engine, frames(5))
    assert_alike(uploaded[-5:], comb=Comb(FOLLOW, 0.5) if direction == FOLLOW else None)
    assert all(each.texture == AMOUNT for each in painted)
    assert engine._texture.offset == (0, 0), "the CPU adds none"
    assert engine.history().keys() == set()


@pytest.mark.full
def test_a_film_has_its_texture_by_the_cpu_whose_state_is_saved(engine, on_gpu, uploaded):
    engine.configure(on_gpu)
    paint(engine, frames(4), SEQUENCE)
    assert all(np.array_equal(clean, textured) for clean, textured in uploaded)
    assert engine.history()


@pytest.mark.full
def test_a_stream_after_another_one_begins_anew(engine, on_gpu, uploaded):
    engine.configure(on_gpu)
    given = frames(4)
    paint(engine, given)
    engine.reset_history()
    engine.complete(engine.begin(given[2], LIVE))
    assert_alike(uploaded[-1:])


@pytest.mark.full
def test_a_stream_that_the_cpu_textured_meanwhile_begins_anew(engine, on_gpu, uploaded):
    engine.configure(on_gpu)
    given = frames(4)
    paint(engine, given)
    engine.process(given[3], SEQUENCE)
    engine.complete(engine.begin(given[2], LIVE))
    assert_alike(uploaded[-1:])


@pytest.mark.full
def test_two_sizes_of_a_live_frame_have_one_texture(engine, on_gpu, uploaded, monkeypatch):
    monkeypatch.setattr(resolution, "STROKE_SIZE", 64)
    engine.configure(replace(on_gpu, keep_strokes=True))
    paint(engine, frames(3))
    texture = Texture()
    for small, large in zip(uploaded[-6::2], uploaded[-5::2], strict=True):
        assert small[0].size < large[0].size
        inputs = large[0], small[0]
        expected = texture.apply(inputs, AMOUNT, continues=True)
        for (_, got), wanted in zip((large, small), expected, strict=True):
            assert np.abs(got.astype(int) - wanted).max() <= 1


def test_without_texture_nothing_is_added(engine, on_gpu, uploaded):
    engine.configure(replace(on_gpu, texture=0.0))
    paint(engine, frames(2))
    assert all(np.array_equal(clean, textured) for clean, textured in uploaded)


def test_memory_of_another_size_or_gpu_is_not_kept(gpu):
    texture, device = ShaderTexture(), software_gpu()
    first = texture.adding(device, (64, 48))
    assert texture.adding(device, (64, 48)) is first
    assert texture.adding(device, (48, 64)) is not first
    texture.clear()
    again = texture.adding(device, (48, 64))
    assert again.begins
    give_up(device, "lost")
    try_again()
    assert texture.adding(device, (48, 64)) is not again
