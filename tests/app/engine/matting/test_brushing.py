"""Masks painted by hand choose what is painted, have the brush's soft edge, and are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.engine.config import same_choice
from app.engine.matting.brushing import HARD, LONG_SIDE, brush, mask_of
from app.engine.matting.files import (
    LARGEST_MASK,
    MatteError,
    is_mask,
    is_of_source,
    read_mask,
)
from app.engine.matting.masks import KEPT, drop_mask, hold_mask, mask_at, write_mask
from app.engine.matting.source import MaskMatte, matte_source
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from tests.helpers.errors import mentions
from utils.opencv import cv2

RADIUS = 0.1  # of the long side


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    coarse = rng.integers(0, 256, (12, 16, 3), np.uint8)
    return Frame(np.asarray(cv2.resize(coarse, (320, 240)), np.uint8))


@pytest.fixture
def brushed(tmp_path):
    """Return a mask whose left half is painted, and its file."""
    mask = mask_of(320, 240, full=False)
    brush(mask, [(0.0, y) for y in (0.0, 0.5, 1.0)], 0.5, erases=False)
    return mask, kept(mask, tmp_path / "masks")


def kept(mask: np.ndarray, folder: Path, count: int = KEPT) -> Path:
    """Write a mask into a folder, and return its file."""
    file = hold_mask(mask, folder)
    write_mask(file, count)
    return file


def test_a_dab_is_full_in_its_middle_and_soft_at_its_edge():
    mask = mask_of(400, 200, full=False)
    brush(mask, [(0.5, 0.5)], RADIUS, erases=False)
    row = mask[100, 200:].astype(int)
    assert (row[: round(HARD * 40) - 1] == 255).all()
    assert (row[41:] == 0).all()
    assert (np.diff(row[:42]) <= 0).all()
    assert len(set(row[20:40])) > 15, "the edge has many levels"
    assert int(mask[100 + 30, 200]) == pytest.approx(row[30], abs=4), "it is round"


def test_a_stroke_has_no_gaps_and_no_beads():
    mask = mask_of(400, 200, full=False)
    brush(mask, [(0.2, 0.5), (0.8, 0.5)], RADIUS / 4, erases=False)
    core = mask[100, 80:320]
    assert (core == 255).all()
    edge = mask[100 - 7, 90:310].astype(int)
    assert np.ptp(edge) <= 20


def test_a_stroke_that_comes_back_adds_nothing_to_its_edge():
    once, twice = mask_of(400, 200, full=False), mask_of(400, 200, full=False)
    brush(once, [(0.2, 0.5), (0.8, 0.5)], RADIUS, erases=False)
    brush(twice, [(0.2, 0.5), (0.8, 0.5), (0.2, 0.5)], RADIUS, erases=False)
    assert np.abs(once.astype(int) - twice).max() <= 8


def test_the_eraser_takes_away_what_the_brush_painted():
    mask = mask_of(400, 200, full=True)
    brush(mask, [(0.5, 0.5)], RADIUS, erases=True)
    assert mask[100, 200] == 0
    assert mask[5, 5] == 255
    brush(mask, [(0.5, 0.5)], RADIUS, erases=False)
    assert mask[100, 200] == 255


def test_a_brush_beyond_the_border_is_cut_off():
    mask = mask_of(400, 200, full=False)
    brush(mask, [(-0.5, -0.5), (1.5, 1.5)], RADIUS, erases=False)
    assert mask[100, 200] == 255


def test_a_mask_has_the_shape_of_its_picture():
    assert mask_of(6000, 4000, full=False).shape == (683, LONG_SIDE)
    assert mask_of(40, 30, full=False).shape == (30, 40)
    assert mask_of(9000, 1, full=False).shape == (1, LONG_SIDE)


def test_a_mask_is_read_again(brushed):
    mask, file = brushed
    assert is_mask(file)
    assert is_of_source(file)
    assert np.array_equal(read_mask(file), mask)
    assert isinstance(matte_source(str(file)), MaskMatte)


def test_a_mask_in_memory_is_read_before_its_file_is_there(tmp_path):
    mask = mask_of(8, 8, full=True)
    file = hold_mask(mask, tmp_path)
    mask[:] = 0  # a stroke that goes on changes no draft
    assert not file.exists()
    assert mask_at(file).min() == 255
    assert isinstance(matte_source(str(file)), MaskMatte)
    write_mask(file)
    assert mask_at(file).min() == read_mask(file).min() == 255
    file.unlink()
    with pytest.raises(MatteError):
        mask_at(file)


def test_a_dropped_mask_is_gone_and_names_follow_the_order_of_strokes(tmp_path):
    files = [hold_mask(mask_of(8, 8, full=False), tmp_path) for _ in range(100)]
    assert files == sorted(set(files))
    drop_mask(files[0])
    with pytest.raises(MatteError):
        mask_at(files[0])


def test_only_the_newest_masks_are_kept(tmp_path):
    mask = mask_of(8, 8, full=False)
    paths = [kept(mask, tmp_path, 3) for _ in range(5)]
    assert sorted(tmp_path.iterdir()) == paths[2:]


@pytest.mark.parametrize("length", [0, 20, 60], ids=str)
def test_a_damaged_mask_is_named(brushed, length):
    _, file = brushed
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(MatteError) as error:
        matte_source(str(file))
    assert mentions(str(error.value), file.name, "damaged")


def test_a_missing_mask_is_named(tmp_path):
    with pytest.raises(MatteError) as error:
        matte_source(str(tmp_path / "gone.mask"))
    assert mentions(str(error.value), "gone.mask")


@pytest.mark.parametrize("shape", [(8, 8, 3), (1, LARGEST_MASK + 1)], ids=["in color", "too large"])
def test_a_picture_that_is_no_mask_is_refused(tmp_path, shape):
    file = kept(np.zeros(shape, np.uint8), tmp_path)
    with pytest.raises(MatteError) as error:
        matte_source(str(file))
    assert mentions(str(error.value), file.name, "gray")


@pytest.mark.parametrize("paint", ["person", "background"])
def test_only_the_brushed_part_is_painted(engine, config, frame, brushed, paint):
    mask, file = brushed
    chosen = replace(config, size=64)
    engine.configure(chosen)
    whole = engine.process(frame, ProcessMode.SINGLE).frame.pixels
    engine.configure(replace(chosen, matte=str(file), paint=paint))
    made = engine.process(frame, ProcessMode.SINGLE)
    inside = mask == (255 if paint == "person" else 0)
    outside = mask == (0 if paint == "person" else 255)
    assert (made.frame.pixels[inside] == whole[inside]).all()
    assert (made.frame.pixels[outside] == frame.pixels[outside]).all()
    between = (mask > 100) & (mask < 150)
    there = np.abs(made.frame.pixels[between].astype(int) - whole[between])
    here = np.abs(made.frame.pixels[between].astype(int) - frame.pixels[between])
    assert there.mean() > 1
    assert here.mean() > 1
    assert made.running.limitations == ()


def test_a_mask_is_stretched_to_the_picture_and_softened(frame):
    mask = np.zeros((24, 32), np.float32)
    mask[:, :16] = 1
    matte = MaskMatte(mask)
    sharp = matte.of(frame.pixels, 0.0, continues=False).at(frame.pixels)
    soft = matte.of(frame.pixels, 1.0, continues=False).at(frame.pixels)
    assert sharp.shape == (240, 320)
    assert sharp[:, :150].min() == 1
    assert sharp[:, 170:].max() == 0
    assert 0.02 < soft[120, 170] < 0.5


def test_a_stroke_takes_effect_on_the_painting_under_way(engine, config, frame, brushed):
    mask, file = brushed
    chosen = replace(config, size=64)
    engine.configure(chosen)
    newest = replace(chosen, matte=str(file), paint="person")
    made = engine.finish(engine.infer(frame, ProcessMode.SINGLE), newest)
    assert made.config == newest
    assert (made.frame.pixels[mask == 0] == frame.pixels[mask == 0]).all()
    assert same_choice(replace(newest, matte=""), newest)


def test_a_mask_that_is_gone_leaves_the_painting_under_way_alone(engine, config, frame):
    chosen = replace(config, size=64)
    engine.configure(chosen)
    gone = replace(chosen, matte="gone.mask", paint="person")
    made = engine.finish(engine.infer(frame, ProcessMode.SINGLE), gone)
    assert made.config == chosen
    with pytest.raises(MatteError):
        engine.configure(gone)


def test_a_mask_ends_with_its_source(engine, config, frame, brushed):
    _, file = brushed
    engine.configure(replace(config, size=64, matte=str(file), paint="person"))
    engine.leave_picture()
    made = engine.process(frame, ProcessMode.SINGLE)
    assert len(made.running.limitations) == 1
