"""The kernels add the same texture to frames as the CPU, and move it with the scene."""

from __future__ import annotations

import ctypes
import json
import math
import re
from typing import cast

import numpy as np
import pytest
import torch

from app.engine.post.blending import Pixels
from app.engine.texture import combing
from app.engine.texture.reference import TextureReference
from app.sources.scene import render
from kernels.frames.combing import LEAN, LONGEST, MODES, ONE_WAY, Comb
from kernels.frames.cpu_texture import CpuTexture
from kernels.frames.launchers import frame_kernels
from kernels.frames.noise import TRACKED, tracked_size
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from tests.helpers.daily import matrix
from tests.kernels.frames.emulated import EmulatedFrameKernels
from tests.kernels.frames.native import native_texture
from utils.images.reading import read_pixels
from utils.opencv import cv2
from utils.stroke_directions import FOLLOW, HAND, MOST_HANDLES, SWIRL, Handle

PAINTINGS = FOLDER.parent / "assets" / "styles"
VIEW = 180, 320  # height, width
BACK = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP


class NativeTexture:
    """The CPU's native library with the interface of the GPU's kernels."""

    def __init__(self, library: CpuTexture) -> None:
        self._library = library

    def new_texture(self, height, width, _device):
        return self._library.new_texture(height, width)

    def texture(self, history, picture, textured, amount, *, continues, comb=None):
        given, made = picture.numpy(), textured.numpy()
        self._library.texture(history, given, made, amount, continues=continues, comb=comb)

    def enlarge_texture(self, history, picture, textured):
        self._library.enlarge_texture(history, picture.numpy(), textured.numpy())


@pytest.fixture(params=["emulated", "native", pytest.param("cuda", marks=pytest.mark.gpu)])
def how(request) -> str:
    return request.param


@pytest.fixture
def device(how) -> torch.device:
    return torch.device("cuda" if how == "cuda" else "cpu")


@pytest.fixture
def kernels(how, device, request):
    if how == "emulated":
        return EmulatedFrameKernels(request.getfixturevalue("host"))
    request.getfixturevalue("native_kernels")
    if how == "cuda":
        found = frame_kernels(device)
        assert found is not None
        return found
    return NativeTexture(native_texture())


def painting(key: str, height: int, width: int) -> Pixels:
    found = read_pixels(PAINTINGS / key / "thumbnail.png")
    return np.asarray(cv2.resize(found, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def textured(kernels, history, pixels, amount=1.0, *, continues=False, comb=None) -> np.ndarray:
    given = torch.from_numpy(np.ascontiguousarray(pixels)).to(history.cells.device)
    made = torch.zeros_like(given)
    kernels.texture(history, given, made, amount, continues=continues, comb=comb)
    return made.cpu().numpy()


def shares(got: np.ndarray, expected: np.ndarray) -> tuple[int, float]:
    apart = np.abs(got.astype(int) - expected)
    return int(apart.max()), float((apart > 0).mean())


@matrix(
    {
        "key": ["starry_night", "great_wave", "scream"],
        "size": [(180, 320), (181, 323), (720, 1280), (90, 37), (9, 7), (1, 1), (600, 16)],
        "amount": [0.25, 1.0],
    }
)
def test_a_picture_gets_the_texture_of_the_cpu(key, size, amount, kernels, device):
    pixels = painting(key, *size)
    (expected,) = TextureReference().apply((pixels,), amount, continues=False)
    got = textured(kernels, kernels.new_texture(*size, device), pixels, amount)
    most, share = shares(got, expected)
    assert most <= 1
    assert share < 0.01


def test_a_flat_picture_is_given_the_most(kernels, device):
    gray = np.full((*VIEW, 3), 120, np.uint8)
    (expected,) = TextureReference().apply((gray,), 1.0, continues=False)
    got = textured(kernels, kernels.new_texture(*VIEW, device), gray)
    assert shares(got, expected)[0] <= 1
    assert np.abs(got.astype(int) - gray).mean() > 10


def test_a_picture_may_be_given_its_texture_in_place(kernels, device):
    pixels = painting("wreck", *VIEW)
    expected = textured(kernels, kernels.new_texture(*VIEW, device), pixels)
    same = torch.from_numpy(pixels.copy()).to(device)
    kernels.texture(kernels.new_texture(*VIEW, device), same, same, 1.0, continues=False)
    assert np.array_equal(same.cpu().numpy(), expected)


@pytest.mark.parametrize("large", [(180, 320), (181, 257), (720, 1280)], ids=str)
def test_a_larger_copy_gets_the_same_texture(large, kernels, device):
    size = 120, 213
    inputs = painting("great_wave", *large), painting("great_wave", *size)
    expected, expected_small = TextureReference().apply(inputs, 0.8, continues=False)
    history = kernels.new_texture(*size, device)
    history.keep_field()
    small = textured(kernels, history, inputs[1], 0.8)
    given = torch.from_numpy(inputs[0].copy()).to(device)
    kernels.enlarge_texture(history, given, given)
    for got, wanted in ((small, expected_small), (given.cpu().numpy(), expected)):
        most, share = shares(got, wanted)
        assert most <= 1
        assert share < 0.01


def views(x: float, y: float, length: int, noise: float = 2.0):
    """Yield views of a painted scene from a camera that moves by x and y pixels per frame."""
    scene, rng = painting("starry_night", 640, 1100), np.random.default_rng(1)
    for number in range(length):
        there = np.array([[1, 0, 300 + number * x], [0, 1, 200 + number * y]], np.float64)
        view = cv2.warpAffine(scene, there, (VIEW[1], VIEW[0]), flags=BACK)
        yield np.clip(view + rng.normal(0, noise, view.shape), 0, 255).astype(np.uint8)


def test_the_pattern_stands_still_before_a_still_camera(kernels, device):
    history = kernels.new_texture(*VIEW, device)
    for view in views(0, 0, 8):
        textured(kernels, history, view, continues=True)
    assert history.offset.tolist() == [0, 0]


@pytest.mark.parametrize("step", [(2.3, 0.9), (-0.4, 0.2), (9.0, -4.0), (30.0, 5.0)], ids=str)
def test_the_pattern_moves_with_the_scene_as_on_the_cpu(step, kernels, device):
    history, texture, length = kernels.new_texture(*VIEW, device), TextureReference(), 9
    seen = list(views(step[0], step[1], length))
    added = []
    for view in seen:
        got = textured(kernels, history, view, continues=True)
        (expected,) = texture.apply((view,), 1.0, continues=True)
        added.append([each.astype(float) - view for each in (got, expected)])
    true = -(length - 1) * step[0], -(length - 1) * step[1]
    assert math.dist(history.offset.tolist(), true) < 0.8
    assert math.dist(history.offset.tolist(), texture.offset) < 1.0
    ours, theirs = added[-1]
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.7


def test_of_an_object_and_the_scene_behind_it_the_pattern_follows_the_scene(kernels, device):
    history = kernels.new_texture(*VIEW, device)
    for number, view in enumerate(views(1.5, 0, 9)):
        view[60:130, 10 + 14 * number : 70 + 14 * number] = 255 - view[60:130, :60]
        textured(kernels, history, view, continues=True)
    assert math.dist(history.offset.tolist(), (-12, 0)) < 1.0


def test_where_the_motion_is_not_known_the_texture_fades_and_returns(kernels, device):
    history, rng = kernels.new_texture(*VIEW, device), np.random.default_rng(0)
    gray = np.full((*VIEW, 3), 120, np.uint8)
    textured(kernels, history, painting("scream", *VIEW), continues=True)
    faded = []
    for _ in range(5):
        textured(
            kernels, history, rng.integers(0, 255, gray.shape).astype(np.uint8), continues=True
        )
        faded.append(float(history.presence))
    assert faded == [0.75, 0.5, 0.25, 0, 0]
    assert np.array_equal(textured(kernels, history, gray, continues=True), gray), "it is gone"
    for view in views(1, 0, 31):
        textured(kernels, history, view, continues=True)
    assert float(history.presence) == 1


def test_a_picture_has_the_same_texture_whatever_came_before(kernels, device):
    history = kernels.new_texture(*VIEW, device)
    for view in views(5, 1, 3):
        textured(kernels, history, view, continues=True)
    pixels = painting("wreck", *VIEW)
    alone = textured(kernels, kernels.new_texture(*VIEW, device), pixels)
    assert np.array_equal(textured(kernels, history, pixels), alone)


def test_a_stream_that_is_forgotten_begins_anew(kernels, device):
    history = kernels.new_texture(*VIEW, device)
    seen = list(views(6, 2, 4))
    first = textured(kernels, history, seen[0], continues=True)
    for view in seen[1:]:
        textured(kernels, history, view, continues=True)
    assert history.offset.abs().max() > 10
    history.forget()
    assert np.array_equal(textured(kernels, history, seen[0], continues=True), first)


def test_two_runs_are_bit_equal(kernels, device):
    runs: list[list[object]] = []
    for _ in range(2):
        runs.append([])
        history = kernels.new_texture(*VIEW, device)
        for view in views(3.3, -1.2, 6):
            newest = textured(kernels, history, view, continues=True)
            runs[-1].append((newest.tobytes(), history.offset.tolist()))
    assert runs[0] == runs[1]


def test_in_an_animated_scene_the_texture_is_that_of_the_cpu(kernels, device):
    height, width = 360, 640
    history, texture = kernels.new_texture(height, width, device), TextureReference()
    for number in range(6):
        view = np.ascontiguousarray(render(number / 25, width, height))
        got = textured(kernels, history, view, continues=True)
        (expected,) = texture.apply((view,), 1.0, continues=True)
        assert (got != view).mean() > 0.01
        assert shares(got, expected)[0] <= 1


def test_copies_for_motion_are_no_larger_than_the_kernels_can_hold():
    for size in ((128, 128), (4000, 4000), (1, 9000), (721, 1280), (3, 2)):
        small = tracked_size(*size)
        assert max(small) <= TRACKED
        assert min(small) >= 1


def test_a_native_library_of_other_structs_is_refused():
    class Other:
        """A library whose struct sizes differ from Python's."""

        @staticmethod
        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))
        def texture_sizes(sizes):
            sizes[0] = 8
            return 0

    with pytest.raises(BuildError, match=r"structs\.py differ"):
        CpuTexture(cast("ctypes.CDLL", Other()))


def test_a_library_of_other_noise_is_refused(host):
    told = json.loads(host.styleforge_frames_abi())
    told["frame"]["texture"]["fine_side"] += 1
    with pytest.raises(BuildError, match="differ in sizes"):
        EmulatedFrameKernels(host)._describe(told)


def pale(key: str, height: int, width: int) -> Pixels:
    """Return a painting with so little contrast that texture covers it."""
    return np.asarray(100 + 0.1 * painting(key, height, width), np.uint8)


def added(kernels, device, pixels, comb) -> np.ndarray:
    """Return the levels that a picture gets, [H, W]."""
    history = kernels.new_texture(*pixels.shape[:2], device)
    made = textured(kernels, history, pixels, comb=comb)
    return made[..., 0].astype(float) - pixels[..., 0]


def lean(field: np.ndarray) -> tuple[float, float]:
    """Return the direction of a field's lines in degrees, and how many agree, 0 to 1."""
    down, right = np.gradient(field)
    across, both = (right * right - down * down).mean(), (2 * right * down).mean()
    energy = (right * right + down * down).mean()
    angle = math.degrees(math.atan2(-both, across)) / 2 + 90
    return angle % 180, math.hypot(across, both) / energy


MANY = tuple(
    Handle((n * 5 % 12 + 0.5) / 12, (n * 7 % 12 + 0.5) / 12, n * 50.0 % 180)
    for n in range(MOST_HANDLES)
)
COMBS = (
    Comb(FOLLOW), Comb(FOLLOW, 1.0), Comb(SWIRL, 0.7), Comb(30.0), Comb(135.0, 0.0),
    Comb(HAND, 0.6, (Handle(0.2, 0.3, 30.0), Handle(0.8, 0.7, 120.0))), Comb(HAND, 0.5, MANY),
)  # fmt: skip


@matrix(
    {
        "size": [(180, 320), (181, 323), (360, 640), (90, 37), (9, 7), (1, 1), (600, 16)],
        "comb": range(len(COMBS)),
    },
    meeting=1,
)
def test_strokes_with_a_direction_are_those_of_the_reference(size, comb, kernels, device):
    pixels = pale("great_wave", *size)
    (expected,) = TextureReference().apply((pixels,), 1.0, continues=False, comb=COMBS[comb])
    most, share = shares(
        textured(kernels, kernels.new_texture(*size, device), pixels, comb=COMBS[comb]), expected
    )
    assert most <= 1
    assert share < 0.01 or size[0] * size[1] < 100


def test_directed_strokes_of_an_animated_scene_are_those_of_the_reference(kernels, device):
    height, width = 360, 640
    history, texture = kernels.new_texture(height, width, device), TextureReference()
    for number in range(5):
        view = np.ascontiguousarray(render(number / 25, width, height))
        got = textured(kernels, history, view, continues=True, comb=COMBS[0])
        (expected,) = texture.apply((view,), 1.0, continues=True, comb=COMBS[0])
        most, share = shares(got, expected)
        assert most <= 1
        assert share < 0.01


@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0, 150.0], ids=str)
def test_strokes_in_one_direction_lie_there(angle, kernels, device):
    direction, agree = lean(added(kernels, device, np.full((*VIEW, 3), 120, np.uint8), Comb(angle)))
    assert abs((direction - angle + 90) % 180 - 90) < 5
    assert agree > 0.5


def test_longer_strokes_agree_more_and_are_no_stronger(kernels, device):
    gray = np.full((*VIEW, 3), 120, np.uint8)
    fields = [added(kernels, device, gray, Comb(45.0, length)) for length in (0.0, 0.5, 1.0)]
    agree = [lean(field)[1] for field in fields]
    assert agree == sorted(agree)
    for field in fields:
        assert field.std() == pytest.approx(fields[0].std(), rel=0.15)


@pytest.mark.parametrize("angle", [20.0, 110.0], ids=str)
def test_strokes_that_follow_lie_along_the_lines_of_the_picture(angle, kernels, device):
    rows, columns = np.indices(VIEW)
    across = columns * math.sin(math.radians(angle)) + rows * math.cos(math.radians(angle))
    slope = np.clip(100 + across / 3, 0, 255).astype(np.uint8)
    pixels = np.ascontiguousarray(np.repeat(slope[..., None], 3, 2))
    direction, agree = lean(added(kernels, device, pixels, Comb(FOLLOW)))
    assert abs((direction - angle + 90) % 180 - 90) < 8
    assert agree > 0.4


def test_eddies_lie_in_every_direction(kernels, device):
    field = added(kernels, device, np.full((360, 640, 3), 120, np.uint8), Comb(SWIRL))
    parts = [lean(part) for rows in np.split(field, 6) for part in np.split(rows, 10, 1)]
    assert lean(field)[1] < 0.3
    assert np.mean([agree for _, agree in parts]) > 0.3


def test_strokes_lie_as_the_nearest_handle_says_wherever_the_scene_moves(kernels, device):
    comb = Comb(HAND, 0.5, (Handle(0.1, 0.5, 20.0), Handle(0.9, 0.5, 100.0)))
    history = kernels.new_texture(*VIEW, device)
    for view in views(12.0, 0, 5):
        pixels = view // 4 + 90
        made = textured(kernels, history, pixels, continues=True, comb=comb)
        field = made[..., 0].astype(float) - pixels[..., 0]
        for part, angle in ((field[:, :80], 20.0), (field[:, -80:], 100.0)):
            direction, agree = lean(part)
            assert abs((direction - angle + 90) % 180 - 90) < 8
            assert agree > 0.4


def test_one_handle_combs_the_whole_picture(kernels, device):
    gray = np.full((*VIEW, 3), 120, np.uint8)
    by_hand = Comb(HAND, 0.5, (Handle(0.05, 0.9, 30.0),))
    expected = added(kernels, device, gray, Comb(30.0, 0.5))
    assert np.abs(added(kernels, device, gray, by_hand) - expected).max() <= 1


PAIRS = ((0.0, 90.0), (33.0, 123.0), (34.4, 124.4), (10.0, 95.0), (60.0, 170.0))


@pytest.mark.parametrize(
    "angles", [*PAIRS, (5.0, 65.0, 125.0)], ids=lambda angles: "-".join(f"{a:g}" for a in angles)
)
def test_strokes_turn_from_handle_to_handle_without_a_seam(angles):
    places = ((0.3, 0.4), (0.7, 0.5), (0.5, 0.9))
    handles = tuple(Handle(*at, angle) for at, angle in zip(places, angles, strict=False))
    small = np.zeros((72, 128), np.uint8)
    axes = combing.axes_of(Comb(HAND, 0.5, handles), small, (360, 640), (0.0, 0.0))
    angle = np.arctan2(axes[..., 1], axes[..., 0])
    lengths = np.linalg.norm(axes, axis=-1)
    for axis in (0, 1):
        turn = np.abs((np.diff(angle, axis=axis) + math.pi) % (2 * math.pi) - math.pi) / 2
        sure = np.delete(lengths, 0, axis) > 0.2
        assert np.degrees(turn[sure]).max() < 20
    assert (lengths < 0.2).mean() < 0.01, "more than points where strokes meet from all sides"


def test_strokes_turn_from_handle_to_handle_on_the_shorter_way():
    handles = Handle(0.2, 0.5, 150.0), Handle(0.8, 0.5, 30.0)
    small = np.zeros((72, 128), np.uint8)
    axes = combing.axes_of(Comb(HAND, 0.5, handles), small, (360, 640), (0.0, 0.0))
    between = axes[36, 26:102]
    assert between[:, 0].min() > 0.4, "through the horizontal, not through the vertical"


def test_combs_without_handles_and_handles_without_a_comb_are_refused():
    for direction, handles in ((HAND, ()), (30.0, MANY), (FOLLOW, MANY)):
        with pytest.raises(ValueError, match="handles"):
            Comb(direction, 0.5, handles)


def test_each_direction_in_a_stream_begins_without_the_last_one(kernels, device):
    history, texture = kernels.new_texture(*VIEW, device), TextureReference()
    modes = COMBS[0], COMBS[0], COMBS[5], COMBS[0], COMBS[2], COMBS[6]
    for view, comb in zip(views(0, 0, len(modes)), modes, strict=True):
        pixels = view // 4 + 90
        got = textured(kernels, history, pixels, continues=True, comb=comb)
        (expected,) = texture.apply((pixels,), 1.0, continues=True, comb=comb)
        assert shares(got, expected)[0] <= 1


@pytest.mark.parametrize("comb", [COMBS[0], COMBS[2]], ids=["follow", "swirl"])
def test_directed_strokes_move_with_the_scene(comb, kernels, device):
    history, fields = kernels.new_texture(*VIEW, device), []
    for view in views(12.0, 0, 6):
        pixels = view // 4 + 90
        made = textured(kernels, history, pixels, continues=True, comb=comb)
        fields.append(made[..., 0].astype(float) - pixels[..., 0])
    assert history.offset.tolist() == pytest.approx([-60, 0], abs=1.0)
    before, now = fields[-2:]
    assert np.corrcoef(now[:, :-12].ravel(), before[:, 12:].ravel())[0, 1] > 0.9


def test_a_stream_of_directed_strokes_goes_on_in_another_one(kernels, device):
    first, seen = kernels.new_texture(*VIEW, device), list(views(3.0, 1.0, 6))
    for view in seen[:4]:
        textured(kernels, first, view, continues=True, comb=COMBS[0])
    second = kernels.new_texture(*VIEW, device)
    second.restore(first.state())
    for view in seen[4:]:
        expected = textured(kernels, first, view, continues=True, comb=COMBS[0])
        got = textured(kernels, second, view, continues=True, comb=COMBS[0])
        assert np.array_equal(got, expected)


def test_the_longest_strokes_read_no_noise_beyond_its_margin():
    assert Comb(FOLLOW, 1.0).steps == LONGEST


def test_the_blurs_of_the_tensor_are_made_for_copies_of_this_size():
    assert TRACKED == 128


def test_the_kernels_and_the_reference_comb_with_the_same_numbers():
    header = (FOLDER / "frames" / "native" / "combing.h").read_text("utf-8")
    told = {name: float(n) for name, n in re.findall(r"\b(k[A-Z]\w*) = (-?[0-9.]+)f?\b", header)}
    expected = {
        "kNarrowReach": combing.BLURS[0][1], "kCarryReach": combing.BLURS[1][1],
        "kCarried": combing.CARRIED, "kLeastSlope": combing.LEAST_SLOPE,
        "kLeanX": LEAN[0], "kLeanY": LEAN[1], "kAveraged": combing.AVERAGED,
        "kLongest": LONGEST, "kNear": combing.NEAR, "kTurn": combing.TURN,
        "kMostHandles": MOST_HANDLES, "kOneWay": ONE_WAY,
        "kFollow": MODES[FOLLOW], "kSwirl": MODES[SWIRL], "kHand": MODES[HAND],
    }  # fmt: skip
    assert told == expected


def test_a_library_of_other_combing_is_refused(host):
    told = json.loads(host.styleforge_frames_abi())
    for name in ("margin", "most_handles"):
        other = json.loads(json.dumps(told))
        other["frame"]["texture"][name] += 1
        with pytest.raises(BuildError, match=r"combing\.py differ in sizes"):
            EmulatedFrameKernels(host)._describe(other)
