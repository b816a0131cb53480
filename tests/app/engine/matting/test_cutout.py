"""Only the chosen part of a picture is painted, whatever else shapes the picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from app.engine import display_path
from app.engine.engine import Engine
from app.engine.matting.files import MatteError, keep_scene
from app.engine.matting.scene import FRAMES, Scene
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from models.precision import Precision
from tests.app.engine.matting.scenes import empty, person_at, seen, walk
from tests.app.engine.matting.test_model_mattes import red_is_person
from tests.app.engine.paintings_there import inferred_there
from tests.helpers.daily import some_daily
from tests.helpers.emulated_streams import emulate
from tests.helpers.errors import mentions
from tests.kernels.frames.emulated import EmulatedFrameKernels, compiled
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


@pytest.mark.parametrize("paint", ["person", "background"])
def test_the_rest_is_green_if_wanted(engine, config, painted, paint):
    whole, frame, *places = painted
    kept, rest = map(_far, places if paint == "person" else reversed(places))
    engine.configure(replace(config, paint=paint, rest="green"))
    made = engine.process(frame, LIVE).frame.pixels
    assert np.abs(made[rest].astype(int) - (0, 255, 0)).max() <= 1
    assert np.abs(made[kept].astype(int) - whole[kept]).max() <= 1


def test_a_deep_picture_is_green_where_nothing_is_painted(engine, config, painted):
    _, frame, _, wall = painted
    deep = frame.pixels.astype(np.uint16) * 257
    engine.configure(replace(config, paint="person", rest="green"))
    made = engine.process(Frame(frame.pixels, deep=deep), ProcessMode.SINGLE).frame
    assert made.deep is not None
    assert np.abs(made.deep[_far(wall)].astype(int) - (0, 65535, 0)).max() <= 257


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
    with pytest.raises(MatteError) as error:
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


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("frames"))


@pytest.fixture
def kernels(host, monkeypatch):
    emulate(monkeypatch)
    return EmulatedFrameKernels(host)


@pytest.mark.parametrize(
    "chosen",
    some_daily([{}, {"feather": 0.5}, {"swap_matte": True, "strength": 0.7}], 2),
    ids=str,
)
def test_a_painting_on_a_gpu_is_cut_out_there_as_on_the_cpu(
    chosen, engine, catalog, config, kernels, native_smoothing
):
    other = Engine(catalog)
    for each in (engine, other):
        each.configure(replace(config, paint="person", **chosen))
    for number in range(3):
        true = person_at(320 + 6 * number)
        frame = Frame(seen(true, number), number)
        expected = engine.process(frame, LIVE).frame.pixels
        made = other.finish(inferred_there(other, frame, kernels)).frame
        assert np.abs(made.pixels.astype(int) - expected).max() <= 1
        assert (made.pixels == frame.pixels).all(axis=2).mean() > 0.1
        assert made.screen is not None
        assert made.screen.any(), "the copy for the window is of the mixed picture"
    assert "frame_matting_mix" in kernels.launched
    assert "frame_matting_rough" in kernels.launched
    newer = Frame(seen(person_at(340), 5), 5)
    expected = engine.move(newer).frame.pixels
    styled = other.move(newer, screen=(320, 180))
    assert styled is not None
    moved = styled.frame
    assert moved.screen is not None
    assert np.abs(moved.pixels.astype(int) - expected).max() <= 1
    assert moved.screen.shape == (180, 320, 4)


def test_a_stream_that_leaves_the_gpu_goes_on_with_its_matte(
    engine, catalog, config, kernels, native_smoothing
):
    other = Engine(catalog)
    for each in (engine, other):
        each.configure(replace(config, paint="person"))
    for number in range(4):
        frame = Frame(seen(person_at(320), number), number)
        expected = engine.process(frame, LIVE).frame.pixels
        if number % 2:
            made = other.process(frame, LIVE)
        else:
            made = other.finish(inferred_there(other, frame, kernels))
        assert np.abs(made.frame.pixels.astype(int) - expected).max() <= 1


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("feather", "rest"), [(0.0, "picture"), (0.4, "picture"), (0.0, "green")], ids=str
)
def test_on_a_gpu_a_person_is_cut_out_as_on_the_cpu(
    feather, rest, catalog, config, native_kernels, native_smoothing, monkeypatch
):
    chosen = replace(
        config, style="candy", device="cuda", precision=Precision.fp16, size=320, paint="person",
        feather=feather, rest=rest,
    )  # fmt: skip
    taken = display_path.frame_kernels(torch.device("cuda"))
    pictures: list[list[NDArray[np.uint8]]] = []
    for kernels in (taken, None):
        monkeypatch.setattr(display_path, "frame_kernels", lambda _device, k=kernels: k)
        engine = Engine(catalog)
        engine.configure(chosen)
        shown = [engine.process(Frame(seen(person_at(320 + 6 * n), n), n), LIVE) for n in range(5)]
        pictures.append([each.frame.pixels for each in shown])
    for ours, theirs in zip(*pictures, strict=True):
        apart = np.abs(ours.astype(int) - theirs)
        assert (apart > 4).mean() < 1e-3
