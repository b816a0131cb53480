"""Texture is noise in flat parts of a frame, and it moves with the scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine.process_mode import ProcessMode
from app.engine.style_weights import StyleWeights
from app.engine.texture import Texture, native
from app.engine.texture.reference import DEVIATION, TextureReference, _noise
from app.export.image_metadata import image_metadata
from app.frame import Frame
from app.parameters import AUTO
from kernels.frames.combing import Comb
from kernels.frames.noise import BANDS, tile
from tests.conftest import picture
from tests.kernels.frames.native import native_texture
from utils.opencv import cv2
from utils.stroke_directions import Handle

GRAY = np.full((96, 128, 3), 120, np.uint8)


def textured(pixels, amount=1.0, texture=None, *, continues=False):
    (result,) = (texture or Texture()).apply((pixels,), amount, continues=continues)
    return result


@pytest.fixture(params=["native", "reference"])
def made(request):
    if request.param == "reference":
        return TextureReference
    request.getfixturevalue("native_kernels")
    native_texture()
    return Texture


def landscape(x: float, y: float, width: int = 256, height: int = 144) -> np.ndarray:
    """Return a view of a scene with flat and structured parts, offset x to the right and y down."""
    rng = np.random.default_rng(3)
    blocks = rng.integers(0, 255, (12, 20)).astype(np.uint8)
    scene = cv2.resize(blocks, (700, 420), interpolation=cv2.INTER_NEAREST)
    there = np.array([[1, 0, x + 60], [0, 1, y + 60]], np.float64)
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    view = cv2.warpAffine(scene, there, (width, height), flags=how)
    noisy = view[..., None] + rng.normal(0, 2, (height, width, 3))
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def test_a_flat_picture_gets_noise_of_the_amounts_deviation(made):
    for amount in (0.25, 1.0):
        change = textured(GRAY, amount, made()).astype(float) - 120
        assert change.std() == pytest.approx(amount * DEVIATION, rel=0.25)
        assert (change[..., 0] == change[..., 2]).all(), "it is gray"


def test_a_texture_goes_on_in_another_one(made):
    given = [landscape(3.0 * number, 0) for number in range(10)]
    whole, first, second = made(), made(), made()
    assert first.state() == {}
    expected = [textured(frame, 1.0, whole, continues=True) for frame in given]
    for frame in given[:6]:
        textured(frame, 1.0, first, continues=True)
    assert abs(first.offset[0]) > 10
    second.restore(first.state())
    textured(given[0], 1.0, first, continues=True)  # the saved state is a copy
    for frame, wanted in zip(given[6:], expected[6:], strict=True):
        assert np.array_equal(textured(frame, 1.0, second, continues=True), wanted)
    second.restore({})
    assert second.offset == (0.0, 0.0)


def test_structure_gets_none(made):
    board = np.kron(np.indices((12, 16)).sum(0) % 2, np.ones((8, 8)))[..., None] * [200, 200, 200]
    board = board.astype(np.uint8)
    np.testing.assert_array_equal(textured(board, texture=made()), board)


def test_what_is_flat_between_structure_gets_less_than_a_sky(made):
    face = np.kron(np.indices((24, 32)).sum(0) % 2, np.ones((4, 4)))[..., None] * [160, 160, 160]
    face = face.astype(np.uint8)
    face[36:60, 52:76] = 80  # a forehead, as wide as the small window
    there = (slice(42, 54), slice(58, 70))
    change = [
        textured(each, texture=made()).astype(float)[there] - each[there] for each in (face, GRAY)
    ]
    assert np.abs(change[0]).mean() < 0.1 * np.abs(change[1]).mean()


def test_without_an_amount_the_inputs_are_given_as_they_are(made):
    inputs = (GRAY, GRAY[::2, ::2].copy())
    assert made().apply(inputs, 0.0, continues=True) is inputs


def test_a_picture_has_the_same_texture_whatever_came_before(made):
    texture = made()
    for step in range(3):
        textured(landscape(4.0 * step, 0), texture=texture, continues=True)
    np.testing.assert_array_equal(textured(GRAY, texture=texture), textured(GRAY, texture=made()))


def test_both_sizes_of_a_frame_have_one_texture(made):
    small = np.asarray(cv2.resize(GRAY, (64, 48)), np.uint8)
    large, strokes = made().apply((GRAY, small), 1.0, continues=False)
    again = cv2.resize(large, (64, 48), interpolation=cv2.INTER_AREA).astype(float)
    assert np.corrcoef(again.ravel(), strokes.astype(float).ravel())[0, 1] > 0.9


def test_the_pattern_stands_still_before_a_still_camera(made):
    texture = made()
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(0, 2, (144, 256, 3))
        noisy = np.clip(landscape(0, 0) + noise, 0, 255).astype(np.uint8)
        textured(noisy, texture=texture, continues=True)
    assert texture.offset == (0.0, 0.0)


@pytest.mark.parametrize("step", [(2.3, 0.9), (-0.4, 0.2), (7.0, -3.0)], ids=str)
def test_the_pattern_moves_with_the_scene(step, made):
    texture = made()
    for number in range(16):
        textured(landscape(number * step[0], number * step[1]), texture=texture, continues=True)
    assert texture.offset == pytest.approx((-15 * step[0], -15 * step[1]), rel=0.03, abs=0.6)


def test_where_the_motion_is_not_known_it_fades_and_returns(made):
    texture = made()
    rng = np.random.default_rng(0)
    textured(GRAY, texture=texture, continues=True)
    for _ in range(5):
        unlike = rng.integers(0, 255, GRAY.shape).astype(np.uint8)
        textured(unlike, texture=texture, continues=True)
    assert texture.presence == 0
    view = landscape(0, 0)
    for _ in range(30):
        textured(view, texture=texture, continues=True)
    assert texture.presence == 1
    texture.reset()
    assert texture.presence == 1


def test_without_an_amount_the_scene_is_forgotten(made):
    texture = made()
    for step in range(6):
        textured(landscape(5.0 * step, 0), texture=texture, continues=True)
    assert texture.offset != (0.0, 0.0)
    textured(GRAY, 0.0, texture, continues=True)
    textured(landscape(0, 80), texture=texture, continues=True)
    assert (texture.offset, texture.presence) == ((0.0, 0.0), 1.0)


@pytest.mark.parametrize("sizes", [((96, 128),), ((240, 320), (96, 128)), ((131, 77),)], ids=str)
def test_the_native_texture_is_that_of_the_reference(sizes, native_kernels):
    native_texture()
    inputs = tuple(landscape(0, 0, width, height) for height, width in sizes)
    for pixels in inputs:
        pixels[: len(pixels) // 2] = 120
    made, expected = (
        each.apply(inputs, 0.7, continues=False) for each in (Texture(), TextureReference())
    )
    for given, got, wanted in zip(inputs, made, expected, strict=True):
        assert (got != given).mean() > 0.1
        apart = np.abs(got.astype(int) - wanted)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01


def test_the_number_of_threads_changes_no_bit(native_kernels):
    native_texture()
    before, runs = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            texture, seen = Texture(), []
            for number in range(5):
                view = landscape(3.3 * number, -1.2 * number)
                seen.append(textured(view, 1.0, texture, continues=True).tobytes())
            runs.append((seen, texture.offset))
    finally:
        torch.set_num_threads(before)
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][1] != (0, 0)


def test_without_the_library_the_reference_adds_the_texture(monkeypatch):
    monkeypatch.setattr(native, "cpu_texture", lambda: None)
    texture, reference = Texture(), TextureReference()
    for number in range(4):
        view = landscape(3.0 * number, 0)
        one, other = (textured(view, 1.0, each, continues=True) for each in (texture, reference))
        np.testing.assert_array_equal(one, other)
    assert texture.offset == reference.offset != (0, 0)


def test_a_tile_is_periodic_and_of_unit_deviation():
    for number, (_, side) in enumerate(BANDS):
        noise = tile(number)
        assert noise.std() == pytest.approx(1, rel=1e-3)
        assert noise.shape == (side, side)
        seam = np.abs(noise[0] - noise[-1]).mean()
        assert seam == pytest.approx(np.abs(np.diff(noise, axis=0)).mean(), rel=0.3)


def test_a_pattern_larger_than_its_tiles_moves_in_fractions_of_a_pixel():
    large, moved = _noise(40, 1500, 0.0, 0.0), _noise(40, 1500, -700.0, 0.0)
    np.testing.assert_allclose(large[:, 700:], moved[:, :800], atol=1e-5)
    half = (large[:, :-1] + large[:, 1:]) / 2
    np.testing.assert_allclose(_noise(40, 1499, -0.5, 0.0), half, atol=1e-4)


def test_the_network_sees_the_texture_and_the_source_stays_clean(engine, config):
    frame = Frame(GRAY)
    engine.configure(config)
    plain = engine.process(frame, ProcessMode.SINGLE).frame.pixels
    engine.configure(replace(config, texture=1.0))
    assert (engine.process(frame, ProcessMode.SINGLE).frame.pixels != plain).any()
    engine.configure(replace(config, texture=1.0, strength=0.0))
    shown = engine.process(frame, ProcessMode.SINGLE).frame.pixels
    np.testing.assert_array_equal(shown, GRAY)


def test_in_a_batch_and_in_comparisons_pictures_have_the_same_texture(engine, config):
    frames = [Frame(GRAY), Frame(picture(128, 96))]
    engine.configure(replace(config, texture=0.5))
    alone = [engine.process(frame, ProcessMode.SINGLE).frame.pixels for frame in frames]
    together = engine.process_batch(frames, ProcessMode.SINGLE)
    for one, other in zip(alone, together, strict=True):
        assert np.abs(one.astype(int) - other.frame.pixels).max() <= 1
    engine.configure(replace(config, texture=0.5, compare=True))
    compared = engine.process(frames[0], ProcessMode.SINGLE).comparison
    assert compared is not None
    assert compared.agrees


def test_automatic_is_the_styles_own_amount_in_pictures_and_a_steady_one_in_streams(
    engine, config, monkeypatch
):
    amounts = {False: 0.6, True: 0.2}
    monkeypatch.setattr(StyleWeights, "texture", lambda _, *, moving: amounts[moving])
    frame = Frame(GRAY)
    shown = {}
    for texture in (AUTO, 0.6, 0.2):
        engine.configure(replace(config, texture=texture))
        for mode in ProcessMode:
            engine.reset_history()
            shown[texture, mode] = engine.process(frame, mode)
    for mode in ProcessMode:
        amount = amounts[mode.has_history]
        assert shown[AUTO, mode].texture == amount
        expected = shown[amount, mode].frame.pixels
        np.testing.assert_array_equal(shown[AUTO, mode].frame.pixels, expected)
    assert shown[0.6, ProcessMode.LIVE].texture == 0.6, "a number is one everywhere"
    assert image_metadata(shown[AUTO, ProcessMode.REFINE])["Texture"] == "0.60"


def test_the_direction_of_strokes_is_the_styles_or_the_users_and_reaches_networks(
    engine, config, monkeypatch
):
    automatic = {False: ("follow", 0.8), True: ("swirl", 0.8)}
    monkeypatch.setattr(StyleWeights, "strokes", lambda _, *, moving: automatic[moving])
    shown = {}
    for direction in (AUTO, "follow", "none", 30.0):
        engine.configure(replace(config, texture=1.0, strokes_direction=direction))
        shown[direction] = engine.process(Frame(GRAY), ProcessMode.SINGLE)
    assert shown[AUTO].comb == shown["follow"].comb == Comb("follow", 0.8)
    assert (shown["none"].comb, shown[30.0].comb) == (None, Comb(30.0, 0.8))
    pictures = {key: styled.frame.pixels.tobytes() for key, styled in shown.items()}
    assert pictures[AUTO] == pictures["follow"]
    assert len(set(pictures.values())) == 3
    engine.configure(replace(config, texture=1.0, strokes_direction=AUTO))
    streamed = engine.process(Frame(GRAY), ProcessMode.LIVE)
    assert streamed.comb == Comb("swirl", 0.8)
    kept = image_metadata(shown[AUTO])
    assert (kept["Brushwork"], kept["Stroke length"]) == ("follow", "0.80")


def test_strokes_combed_by_hand_follow_the_picture_until_there_is_a_handle(engine, config):
    handles = (Handle(0.3, 0.4, 60.0),)
    by_hand = replace(config, texture=1.0, strokes_direction="hand", strokes_length=0.5)
    engine.configure(by_hand)
    without = engine.process(Frame(GRAY), ProcessMode.SINGLE)
    assert without.comb == Comb("follow", 0.5)
    assert "Strokes by hand" not in image_metadata(without)
    engine.configure(replace(by_hand, strokes_handles=handles))
    combed = engine.process(Frame(GRAY), ProcessMode.SINGLE)
    assert combed.comb == Comb("hand", 0.5, handles)
    assert not np.array_equal(combed.frame.pixels, without.frame.pixels)
    kept = image_metadata(combed)
    assert (kept["Brushwork"], kept["Strokes by hand"]) == ("hand", "0.3,0.4,60")


def test_texture_without_an_amount_has_no_strokes(engine, config):
    engine.configure(replace(config, texture=0.0, strokes_direction="swirl"))
    assert engine.process(Frame(GRAY), ProcessMode.SINGLE).comb is None
