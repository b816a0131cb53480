"""Pictures too large for memory are computed in bands, and 16-bit pictures stay 16-bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import Engine, EngineError
from app.engine.post.blending import eight_bits
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from models.families.feed_forward import FeedForwardFamily
from models.precision import Precision
from tests.conftest import picture
from tests.helpers.precisions import offer_bf16
from tests.helpers.there import there

WIDTH, HEIGHT = 64, 48
AT_ONCE = 2 * FeedForwardFamily.bytes_per_pixel * WIDTH * HEIGHT  # the engine may use half of it


def engine_with(catalog, free: float, config) -> Engine:
    engine = Engine(catalog, free=lambda device: free)
    engine.configure(config)
    return engine


@pytest.fixture
def deep_frame() -> Frame:
    """Return a gradient too fine for 8 bits."""
    ramp = np.linspace(20_000, 24_000, WIDTH).astype(np.uint16)
    deep = np.ascontiguousarray(np.broadcast_to(ramp[None, :, None], (HEIGHT, WIDTH, 3)))
    return Frame(eight_bits(deep), deep=deep)


@pytest.mark.parametrize("kernels", ["baseline", "fused"])
def test_bands_paint_the_same_picture_and_say_why(catalog, config, frame, kernels, native_kernels):
    config = replace(config, kernels=kernels, size=None)
    whole = engine_with(catalog, AT_ONCE, config).process(frame, ProcessMode.REFINE)
    bands = engine_with(catalog, AT_ONCE - 1000, config).process(frame, ProcessMode.REFINE)
    assert whole.bands == ""
    assert "bands" not in str(whole.running)
    assert "bands of rows" in str(bands.running)
    assert bands.bands in str(bands.running)
    difference = whole.frame.pixels.astype(int) - bands.frame.pixels
    assert np.abs(difference).max() <= 1
    assert np.ptp(whole.frame.pixels) > 10


def test_what_does_not_fit_in_bands_either_is_one_sentence(catalog, config, frame):
    with pytest.raises(EngineError, match=r"memory .*64x48"):
        engine_with(catalog, 1000, config).process(frame)


def test_progress_is_told_and_what_it_raises_stops_the_picture(catalog, config, frame):
    engine = engine_with(catalog, AT_ONCE - 1000, config)
    told: list[float] = []
    engine.on_progress = told.append
    engine.process(frame)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)

    class Stopped(Exception):
        pass

    def stop(share: float) -> None:
        raise Stopped

    engine.on_progress = stop
    with pytest.raises(Stopped):
        engine.process(frame)
    engine.on_progress = told.append
    assert engine.process(frame).bands


def test_the_way_of_later_pictures_does_not_change_with_free_memory(catalog, config, frame):
    free = [AT_ONCE, 0.0]
    engine = Engine(catalog, free=lambda device: free.pop(0))
    engine.configure(config)
    assert [engine.process(frame).bands for _ in range(2)] == ["", ""]
    assert free == [0.0]


def test_a_result_of_16_bits_is_that_of_8_and_finer(catalog, config, deep_frame, native_kernels):
    engine = engine_with(catalog, 1e12, config)
    fine = engine.process(deep_frame, ProcessMode.REFINE).frame
    coarse = engine.process(replace(deep_frame, deep=None), ProcessMode.REFINE).frame
    assert fine.deep is not None
    assert coarse.deep is None
    assert np.abs(fine.pixels.astype(int) - coarse.pixels).max() <= 1
    assert np.abs(fine.deep / 257 - coarse.pixels).max() <= 1
    assert len(np.unique(fine.deep)) > 2 * len(np.unique(coarse.pixels))


@pytest.mark.parametrize("free", [1e12, AT_ONCE - 1000], ids=["at once", "in bands"])
@pytest.mark.parametrize("change", [{}, {"size": 32}, {"keep_colors": True}, {"strength": 0.5}])
def test_every_step_after_the_network_keeps_16_bits(
    catalog, config, deep_frame, change, free, native_kernels
):
    config = replace(config, texture=0.0, **change)
    fine = engine_with(catalog, free, config).process(deep_frame, ProcessMode.REFINE).frame
    coarse = engine_with(catalog, 1e12, config).process(
        replace(deep_frame, deep=None), ProcessMode.REFINE
    )
    assert fine.deep is not None
    assert np.abs(fine.deep / 257 - coarse.frame.pixels).max() <= 3
    assert np.count_nonzero(fine.deep % 257) > fine.deep.size // 2


def test_strength_zero_is_the_picture_with_all_its_bits(catalog, config, deep_frame):
    engine = engine_with(catalog, 1e12, replace(config, strength=0.0))
    assert np.array_equal(there(engine.process(deep_frame).frame.deep), there(deep_frame.deep))


def test_in_half_precision_bands_are_computed_too(catalog, config, monkeypatch):
    offer_bf16(monkeypatch)
    config = replace(config, precision=Precision.bf16, texture=0.0)
    frame = Frame(picture(WIDTH, HEIGHT))
    bands = engine_with(catalog, AT_ONCE - 1000, config).process(frame, ProcessMode.REFINE)
    exact = engine_with(catalog, 1e12, replace(config, precision=Precision.fp32)).process(
        frame, ProcessMode.REFINE
    )
    assert bands.bands
    error = np.square(bands.frame.pixels.astype(float) - exact.frame.pixels).mean()
    assert error < 9


def test_one_size_gives_a_preview_and_a_print_the_same_strokes(catalog, config, native_kernels):
    config = replace(config, size=WIDTH, texture=0.5, upsampling="smooth")
    small = picture(WIDTH, HEIGHT)
    large = np.repeat(np.repeat(small, 6, 0), 6, 1)
    engine = engine_with(catalog, 1e12, config)
    preview = engine.process(Frame(small), ProcessMode.REFINE)
    printed = engine.process(Frame(large), ProcessMode.REFINE)
    assert preview.size == printed.size == (WIDTH, HEIGHT)
    assert printed.frame.pixels.shape == large.shape
    strokes = printed.frame.pixels.reshape(HEIGHT, 6, WIDTH, 6, 3).mean((1, 3))
    assert np.abs(strokes - preview.frame.pixels).mean() < 3
