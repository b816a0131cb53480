"""Only the chosen part of a picture is painted, whatever else shapes the picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.engine.engine import Engine, EngineError
from app.engine.matting.files import keep_scene
from app.engine.matting.scene import FRAMES, Scene
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from tests.app.engine.matting.scenes import empty, person_at, seen, walk
from tests.app.engine.matting.test_model_mattes import red_is_person
from tests.helpers.errors import mentions
from utils.opencv import cv2

LIVE = ProcessMode.LIVE


@pytest.fixture(scope="module")
def scene_file(tmp_path_factory):
    return str(keep_scene(Scene.of_frames(empty(FRAMES)), tmp_path_factory.mktemp("scenes")))


@pytest.fixture
def config(config, scene_file):
    return replace(config, size=64, matte=scene_file)


@pytest.fixture
def painted(engine, config):
    """Return the whole painting, and where the person is."""
    true = person_at(320)
    frame = Frame(seen(true, 0), 1)
    engine.configure(config)
    return engine.process(frame, LIVE).frame.pixels, frame, true > 0.98, true < 0.01


def _far(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask without the pixels next to its edge, which a matte may share."""
    return cv2.erode(inside.astype(np.uint8), np.ones((21, 21))) > 0


def test_everything_is_painted_unless_chosen_otherwise(painted):
    whole, frame, person, wall = painted
    assert (whole != frame.pixels).any(axis=2)[person | wall].mean() > 0.9


@pytest.mark.parametrize(("paint", "swap"), [("person", False), ("background", True)], ids=str)
def test_only_the_person_is_painted(engine, config, painted, paint, swap):
    whole, frame, person, wall = painted
    engine.configure(replace(config, paint=paint, swap_matte=swap))
    made = engine.process(frame, LIVE)
    assert (made.frame.pixels[_far(person)] == whole[_far(person)]).all()
    assert (made.frame.pixels[_far(wall)] == frame.pixels[_far(wall)]).all()
    assert made.running.limitations == ()


def test_only_the_background_is_painted(engine, config, painted):
    whole, frame, person, wall = painted
    engine.configure(replace(config, paint="background"))
    made = engine.process(frame, LIVE).frame.pixels
    assert (made[_far(person)] == frame.pixels[_far(person)]).all()
    assert (made[_far(wall)] == whole[_far(wall)]).all()


def test_strength_and_colors_act_on_the_painted_part(engine, config, painted):
    _, frame, person, wall = painted
    chosen = replace(config, strength=0.4, keep_colors=True)
    engine.configure(chosen)
    whole = engine.process(frame, LIVE).frame.pixels
    made = engine.finish(engine.infer(frame, LIVE), replace(chosen, paint="person")).frame.pixels
    assert (made[_far(person)] == whole[_far(person)]).all()
    assert (made[_far(wall)] == frame.pixels[_far(wall)]).all()


def test_a_painting_that_moves_is_cut_out_of_the_newest_frame(
    engine, config, painted, native_smoothing
):
    _, frame, _, wall = painted
    engine.configure(replace(config, paint="person"))
    engine.process(frame, LIVE)
    newer = Frame(seen(person_at(332), 2), 2)
    made = engine.move(newer)
    still = _far(wall & (person_at(332) < 0.01))
    assert (made.frame.pixels[still] == newer.pixels[still]).all()
    assert (made.frame.pixels != newer.pixels).any()


def test_both_pictures_of_a_comparison_are_cut_out(engine, config, painted):
    _, frame, _, wall = painted
    engine.configure(replace(config, paint="person", compare=True))
    compared = engine.process(frame, LIVE).comparison
    for each in (compared.baseline, compared.fused):
        assert (each.pixels[_far(wall)] == frame.pixels[_far(wall)]).all()


def test_a_deep_picture_keeps_its_depth(engine, config, painted):
    _, frame, _, wall = painted
    deep, far = frame.pixels.astype(np.uint16) * 257, _far(wall)
    engine.configure(replace(config, paint="person"))
    made = engine.process(Frame(frame.pixels, deep=deep), ProcessMode.SINGLE).frame
    assert made.deep is not None
    assert np.abs(made.deep[far].astype(int) - deep[far]).max() <= 257  # a level of 255


def test_without_a_scene_everything_is_painted_and_said(engine, config, painted):
    whole, frame, *_ = painted
    engine.configure(replace(config, paint="person", matte=""))
    made = engine.process(frame, LIVE)
    assert (made.frame.pixels == whole).all()
    assert any("scene" in each for each in made.running.limitations)


def test_a_learned_scene_ends_with_its_source(engine, config, painted):
    _, frame, *_ = painted
    engine.configure(replace(config, paint="person"))
    engine.leave_picture()
    made = engine.process(frame, LIVE)
    assert any("scene" in each for each in made.running.limitations)


def test_a_missing_scene_is_refused_and_the_choice_stays(engine, config, tmp_path):
    engine.configure(config)
    with pytest.raises(EngineError) as error:
        engine.configure(replace(config, matte=str(tmp_path / "gone.scene")))
    assert mentions(str(error.value), "gone.scene")
    assert engine.config == config


@pytest.mark.parametrize("kind", ["scene", "network"])
def test_a_stream_goes_on_from_its_state_as_if_it_had_not_ended(
    engine, catalog, config, kind, tmp_path
):
    if kind == "network":
        network = red_is_person(tmp_path / "red.onnx")
        config = replace(config, matte=str(network))
    config = replace(config, paint="person", texture=0.0)
    frames = [Frame(frame, n) for n, (frame, _) in enumerate(walk(4, light=1.1))]
    engine.configure(config)
    whole = [engine.process(frame, ProcessMode.SEQUENCE).frame.pixels for frame in frames]
    engine.reset_history()
    for frame in frames[:2]:
        engine.process(frame, ProcessMode.SEQUENCE)
    other = Engine(catalog)
    other.configure(config)
    other.restore_history(engine.history())
    for frame, wanted in zip(frames[2:], whole[2:], strict=True):
        made = other.process(frame, ProcessMode.SEQUENCE).frame.pixels
        assert (made == wanted).all()


def test_a_stream_begins_anew_after_a_reset(engine, config):
    engine.configure(replace(config, paint="person", texture=0.0))
    frames = [Frame(frame, n) for n, (frame, _) in enumerate(walk(3, light=1.1))]
    first = engine.process(frames[2], ProcessMode.SEQUENCE).frame.pixels
    for frame in frames[:2]:
        engine.process(frame, ProcessMode.SEQUENCE)
    engine.reset_history()
    assert (engine.process(frames[2], ProcessMode.SEQUENCE).frame.pixels == first).all()
