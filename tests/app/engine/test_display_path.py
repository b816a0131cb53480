"""On a GPU, frames are displayed from there exactly as the CPU would display them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pytest
import torch

from app.engine import display_path
from app.engine.config import EngineConfig
from app.engine.display_path import MOVED_MS, DisplayPath, Submitted, finish_of
from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.post.blending import fit_to
from app.engine.process_mode import ProcessMode
from app.engine.resolution import Sizes
from app.engine.result import Timings
from app.frame import Frame
from app.sources.scene import render
from kernels.frames.stream_state import StateError
from models.inference import repeated_work
from models.inference.frame_styler import DEPTH, Submission
from models.inference.painted_frames import Finish, Painted
from models.precision import Precision
from tests.helpers.emulated_streams import Event, Stream
from tests.helpers.precisions import offer_bf16

FRAME = np.zeros((32, 48, 3), np.uint8)
SIZES = Sizes((24, 16), (24, 16))


class FakeStyler:
    made: ClassVar[list[FakeStyler]] = []

    def __init__(self, kernels, frame, detail, strokes=None) -> None:
        self.detail, self.strokes = detail, strokes
        self.calls: list[object] = []
        self.timed: list[bool] = []
        FakeStyler.made.append(self)

    def forget(self) -> None:
        self.calls.append("forget")

    def state(self):
        return {"kept": np.array(len(self.calls))}

    def restore(self, state) -> None:
        self.calls.append(("restore", int(state["kept"])))

    def repeats(self, finish, screen=None, *, keeps=False) -> bool:
        return finish == Finish(strength=0.25)

    def submit(self, frames, finish, mark, screen=None, *, keeps=False):
        self.calls.append(finish)
        self.timed.append(mark is not None)
        return FakeSubmission([frame + 1 for frame in frames], "kept" if keeps else None)

    def finish_again(self, submission, finish):
        self.calls.append(("again", finish))
        return FakeSubmission([pixels + 1 for pixels in submission.pictures])


class FakeSubmission:
    """A batch that is already computed."""

    def __init__(self, pictures, kept=None) -> None:
        self.pictures, self.kept = pictures, kept

    def wait(self):
        return [Painted(pixels, False) for pixels in self.pictures]

    def there(self):
        return [None for _ in self.pictures]


class FakeNetwork:
    device = torch.device("cpu")
    by_layer = False

    def __init__(self) -> None:
        self.plans: dict[tuple[tuple[int, int], int], object] = {}

    def plan(self, size, samples):
        return self.plans.setdefault((size, samples), object())

    def computing(self):
        return contextlib.nullcontext()


@pytest.fixture
def path(monkeypatch):
    FakeStyler.made = []
    monkeypatch.setattr(display_path, "FrameStyler", FakeStyler)
    monkeypatch.setattr(display_path, "frame_kernels", lambda _device: object())
    return DisplayPath()


def test_a_stream_goes_on_with_what_was_restored(path):
    network, finish = FakeNetwork(), Finish()
    assert path.state() == {}
    path.restore({"kept": np.array(7)})
    assert path.state() == {"kept": np.array(7)}, "nothing was styled since"
    for _ in range(2):
        render_frame(path, network, FRAME, SIZES, finish, "candy")
    (styler,) = FakeStyler.made
    assert styler.calls == ["forget", ("restore", 7), finish, finish]
    assert path.state() == {"kept": np.array(4)}
    path.restore({"kept": np.array(8)})
    path.reset_history()
    render_frame(path, network, FRAME, SIZES, finish, "candy")
    assert styler.calls[4:] == ["forget", finish], "a source was changed after that"


def test_what_was_restored_is_not_forgotten_where_the_path_cannot_be_taken(path, monkeypatch):
    monkeypatch.setattr(display_path, "frame_kernels", lambda _device: None)
    path.restore({"kept": np.array(7)})
    with pytest.raises(StateError, match="other kernels"):
        render_frame(path, FakeNetwork(), FRAME, SIZES, Finish(), "candy")


def render_frame(path, network, frame, sizes, finish, weights):
    submitted = path.submit(network, [frame], sizes, finish, weights)
    (rendering,) = path.collect(submitted)
    return rendering


def test_a_frame_is_styled_with_what_the_config_makes_of_it(path):
    finish = Finish(strength=0.5)
    rendering = render_frame(path, FakeNetwork(), FRAME, SIZES, finish, "candy")
    assert (rendering.pixels == 1).all()
    assert (rendering.displayed, rendering.broken) == (finish, False)
    assert (path.finish(Finish()) == 2).all()
    (styler,) = FakeStyler.made
    assert styler.calls == ["forget", finish, ("again", Finish())]


def test_the_history_ends_with_the_weights_the_network_and_a_reset(path):
    first, second = FakeNetwork(), FakeNetwork()
    for network, weights in [(first, "a"), (first, "a"), (first, "b"), (second, "b"), (first, "b")]:
        render_frame(path, network, FRAME, SIZES, Finish(), weights)
    path.reset_history()
    render_frame(path, first, FRAME, SIZES, Finish(), "b")
    mine, other = FakeStyler.made
    plain = Finish()
    assert mine.calls == ["forget", plain, plain, "forget", plain, "forget", plain, "forget", plain]
    assert other.calls == ["forget", plain]


def test_another_plan_or_size_has_a_styler_of_its_own(path):
    network = FakeNetwork()
    render_frame(path, network, FRAME, SIZES, Finish(), "a")
    render_frame(path, network, FRAME, Sizes((24, 16), (12, 8)), Finish(), "a")
    render_frame(path, network, FRAME[:16], SIZES, Finish(), "a")
    assert len(FakeStyler.made) == 3
    render_frame(path, network, FRAME[:16], SIZES, Finish(), "a")
    assert len(FakeStyler.made) == 3
    network.plans.clear()
    render_frame(path, network, FRAME[:16], SIZES, Finish(), "a")
    assert len(FakeStyler.made) == 4
    assert len(path._stylers) == display_path.STYLERS_KEPT


@pytest.mark.parametrize("missing", ["plan", "kernels"])
def test_without_a_plan_or_kernels_the_path_is_not_taken(missing, path, monkeypatch):
    network = FakeNetwork()
    if missing == "plan":
        monkeypatch.setattr(network, "plan", lambda _size, _samples: None)
    else:
        monkeypatch.setattr(display_path, "frame_kernels", lambda _device: None)
    assert path.submit(network, [FRAME], SIZES, Finish(), "a") is None
    assert FakeStyler.made == []


def test_of_a_stream_that_repeats_one_batch_in_a_few_is_timed(path):
    network, repeating = FakeNetwork(), Finish(strength=0.25)
    for _ in range(2 * display_path.TIMED_EVERY + 1):
        render_frame(path, network, FRAME, SIZES, repeating, "a")
    render_frame(path, network, FRAME, SIZES, Finish(), "a")
    (styler,) = FakeStyler.made
    once = [True] + [False] * (display_path.TIMED_EVERY - 1)
    assert styler.timed == [*once, *once, True, True]
    network.by_layer = True
    styler.timed.clear()
    for _ in range(3):
        render_frame(path, network, FRAME, SIZES, repeating, "a")
    assert styler.timed == [True] * 3


def test_a_batch_that_is_not_timed_has_the_timings_of_the_newest_that_was(path, monkeypatch):
    network, repeating = FakeNetwork(), Finish(strength=0.25)
    first = render_frame(path, network, FRAME, SIZES, repeating, "a")
    second = render_frame(path, network, FRAME, SIZES, repeating, "a")
    assert second.timings is first.timings
    other = render_frame(path, network, FRAME[:16], SIZES, repeating, "a")
    assert other.timings is not first.timings, "another styler is timed itself"


def test_a_config_says_what_is_made_of_the_output():
    config = EngineConfig(
        style="candy", strength=0.3, keep_colors=True, upsampling="guided", smoothing=0.7
    )
    assert finish_of(config, texture=0.0, continues=True) == Finish(0.3, True, True, 0.7)
    assert finish_of(config, texture=0.0, continues=False) == Finish(0.3, True, True, 0.0)
    assert (
        finish_of(replace(config, upsampling="smooth"), texture=0.0, continues=False).guided
        is False
    )
    assert finish_of(config, texture=0.6, continues=True) == Finish(
        0.3, True, True, 0.7, 0.6, follows=True
    )
    assert finish_of(config, texture=0.6, continues=False) == Finish(0.3, True, True, 0.0, 0.6)


def test_a_frame_that_stayed_on_the_gpu_ends_the_cpus_history(engine, config):
    engine.configure(replace(config, smoothing=0.5, size=64))
    frame = Frame(render(0, 96, 64))
    engine.process(frame, ProcessMode.SEQUENCE)
    assert engine._post._smoothers
    inferred = engine.infer(frame, ProcessMode.SEQUENCE)
    finish = inferred.finish
    displayed = replace(inferred.rendering, pixels=frame.pixels.copy(), displayed=finish)
    styled = engine.finish(replace(inferred, renderings={inferred.config.kernels: displayed}))
    assert (styled.frame.pixels == frame.pixels).all()
    assert engine._post._smoothers == {}


def test_what_a_window_paints_is_of_the_picture_that_is_shown(engine, config):
    engine.configure(replace(config, size=64))
    frame = Frame(render(0, 96, 64))
    inferred = engine.infer(frame)
    screen = np.zeros((32, 48, 4), np.uint8)
    finish = inferred.finish
    displayed = replace(
        inferred.rendering, pixels=frame.pixels.copy(), displayed=finish, screen=screen
    )
    given = replace(inferred, renderings={inferred.config.kernels: displayed})
    assert engine.finish(given).frame.screen is screen
    engine._display.finish = lambda _finish: 255 - frame.pixels  # type: ignore[method-assign]
    dragged = engine.finish(given, replace(inferred.config, strength=0.5)).frame
    assert (dragged.pixels == 255 - frame.pixels).all()
    assert dragged.screen is None


CONFIGS = {
    "plain": {},
    "strength and colors": {"strength": 0.6, "keep_colors": True},
    "smoothing": {"smoothing": 0.8},
    "guided": {"upsampling": "guided"},
    "texture": {"texture": 1.0},
    "all": {
        "strength": 0.4, "keep_colors": True, "smoothing": 0.5, "upsampling": "guided",
        "texture": 0.5,
    },
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("size", [None, 160], ids=["the frame's size", "half the size"])
@pytest.mark.parametrize("chosen", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("network", ["full", "lite"])
def test_on_a_gpu_the_picture_is_the_cpus(
    network, chosen, size, catalog, monkeypatch, native_kernels
):
    config = EngineConfig(
        style="candy", device="cuda", precision=Precision.fp16, size=size or 320, network=network,
        **chosen,
    )  # fmt: skip
    pictures: list[list[np.ndarray]] = []
    taken = display_path.frame_kernels(torch.device("cuda"))
    assert taken is not None
    for kernels in (taken, None):
        monkeypatch.setattr(display_path, "frame_kernels", lambda _device, k=kernels: k)
        engine = Engine(catalog)
        engine.configure(config)
        shown = []
        for number in range(6):
            frame = Frame(render(number / 25, 320, 180), number)
            styled = engine.process(frame, ProcessMode.SEQUENCE)
            assert styled.timings.blend >= 0
            shown.append(styled.frame.pixels)
        pictures.append(shown)
    # A smaller input differs by 1 of 255 here and there, as does an input with texture, and the
    # network amplifies that.
    most = 4 if size is not None else 2 if "texture" in chosen else 1
    for ours, theirs in zip(*pictures, strict=True):
        apart = np.abs(ours.astype(int) - theirs)
        assert apart.max() <= most
        assert (apart > 1).mean() < 1e-3


@pytest.mark.gpu
@pytest.mark.parametrize("size", [320, 160], ids=["the frame's size", "half the size"])
def test_on_a_gpu_flat_parts_get_the_texture_of_the_cpu(size, catalog, monkeypatch, native_kernels):
    config = EngineConfig(
        style="candy", device="cuda", precision=Precision.fp16, size=size, texture=0.5
    )
    frame = np.full((180, 320, 3), 120, np.uint8)
    frame[:50, :80] = render(0, 320, 180)[60:110, :80]
    pictures: dict[tuple[bool, float], np.ndarray] = {}
    taken = display_path.frame_kernels(torch.device("cuda"))
    assert taken is not None
    for kernels in (taken, None):
        monkeypatch.setattr(display_path, "frame_kernels", lambda _device, k=kernels: k)
        engine = Engine(catalog)
        for texture in (0.0, 0.5):
            engine.configure(replace(config, texture=texture))
            for number in range(3):
                inferred = engine.infer(Frame(frame, number), ProcessMode.SEQUENCE)
                assert (inferred.rendering.displayed is not None) == (kernels is not None)
                shown = engine.finish(inferred).frame.pixels
                pictures[kernels is not None, texture] = shown.astype(int)
    painted = np.abs(pictures[True, 0.5] - pictures[True, 0.0]).mean()
    apart = np.abs(pictures[True, 0.5] - pictures[False, 0.5]).mean()
    assert painted > 1
    assert apart < 0.05 * painted


def test_the_results_of_slow_paintings_alone_stay_on_the_gpu_to_be_moved(path, monkeypatch):
    network, kept = FakeNetwork(), []

    def painted(ms, **how):
        clock = Spent(Timings(network=ms))
        monkeypatch.setattr(path, "_clock", lambda _device: clock)
        submitted = path.submit(network, [FRAME], SIZES, Finish(), "candy", **how)
        (rendering,) = path.collect(submitted)
        kept.append(rendering.kept)

    for ms in (MOVED_MS, MOVED_MS / 2, MOVED_MS / 2, MOVED_MS, MOVED_MS):
        painted(ms, moves=True)
    painted(MOVED_MS, moves=False)
    assert kept == [None, "kept", None, None, "kept", None]


def test_a_frame_in_flight_is_ready_once_its_picture_is(engine):
    slot = SimpleNamespace(finished=Event())
    submission = Submission(cast("Any", slot), [], [])
    pending = Pending((), Submitted(cast("Any", None), submission, None, Finish()))
    assert not engine.ready(pending)
    slot.finished.record(Stream())
    assert engine.ready(pending)


class Spent:
    """A clock that read these times."""

    device = torch.device("cpu")

    def __init__(self, spent) -> None:
        self.spent = spent

    def mark(self, name) -> None: ...

    def reset(self) -> None: ...

    def read(self, *, wait):
        return self.spent


@pytest.mark.gpu
@pytest.mark.parametrize("size", [320, 160], ids=["the frame's size", "half the size"])
def test_on_a_gpu_newer_frames_show_the_painting_where_the_scene_moved(
    size, catalog, native_kernels, native_smoothing, monkeypatch
):
    monkeypatch.setattr(display_path, "MOVED_MS", 0.0)
    config = EngineConfig(style="candy", device="cuda", precision=Precision.fp16, size=size)
    frames = [Frame(render(number / 25, 320, 180), number) for number in range(12)]
    taken = display_path.frame_kernels(torch.device("cuda"))
    shown: list[list[np.ndarray]] = []
    for kernels in (taken, None):
        monkeypatch.setattr(display_path, "frame_kernels", lambda _device, k=kernels: k)
        engine = Engine(catalog)
        engine.configure(config)
        engine.process(frames[0], ProcessMode.LIVE)  # its time is not known yet
        shown.append([])
        for frame in frames[1:]:
            if frame.index % 4 == 1:
                engine.process(frame, ProcessMode.LIVE)
                continue
            moved = engine.move(frame)
            assert moved is not None
            assert moved.moved
            assert moved.timings.motion > 0
            shown[-1].append(moved.frame.pixels)
    # Only the processor mixes the first painting into the second: the GPU did not keep it.
    for ours, theirs in [*zip(*shown, strict=True)][3:]:
        apart = np.abs(ours.astype(int) - theirs)
        assert (apart > 4).mean() < 1e-3


@pytest.mark.gpu
def test_on_a_gpu_a_dragged_slider_acts_on_the_frame_that_was_computed(catalog, native_kernels):
    engine = Engine(catalog)
    config = EngineConfig(style="candy", device="cuda", precision=Precision.fp16)
    engine.configure(config)
    frame = Frame(render(0, 320, 180))
    inferred = engine.infer(frame)
    assert inferred.rendering.displayed == inferred.finish
    assert (engine.finish(inferred).frame.pixels != frame.pixels).any()
    dragged = replace(config, strength=0.0)
    assert (engine.finish(inferred, dragged).frame.pixels == frame.pixels).all()


@pytest.mark.gpu
@pytest.mark.parametrize("size", [320, 160], ids=["the frame's size", "half the size"])
@pytest.mark.parametrize("chosen", CONFIGS.values(), ids=CONFIGS)
def test_on_a_gpu_frames_that_overlap_are_the_same_bits(
    chosen, size, catalog, native_kernels, monkeypatch
):
    config = EngineConfig(
        style="candy", device="cuda", precision=Precision.fp16, size=size, network="full", **chosen
    )
    frames = [Frame(render(number / 25, 320, 180), number) for number in range(40)]
    alone, overlapping = Engine(catalog), Engine(catalog)
    for engine in (alone, overlapping):
        engine.configure(config)
    monkeypatch.setattr(display_path, "TIMED_EVERY", 1)  # launched stage by stage
    expected = [alone.process(frame, ProcessMode.SEQUENCE).frame.pixels for frame in frames]
    monkeypatch.setattr(display_path, "TIMED_EVERY", 8)
    monkeypatch.setattr(repeated_work, "REPEATS", 5)
    results, before = [], None
    for frame in frames:
        pending = overlapping.begin(frame, ProcessMode.SEQUENCE)
        assert pending is not None
        if before is not None:
            results.append(overlapping.complete(before))
        before = pending
    assert before is not None
    results.append(overlapping.complete(before))
    assert [styled.frame.index for styled in results] == list(range(40))
    assert all(
        (styled.frame.pixels == one).all() for styled, one in zip(results, expected, strict=True)
    )
    (styler,) = overlapping._display._stylers.values()
    assert len(styler._repeated._graphs) == DEPTH, "most frames were one graph"
    for styled in results:
        timings = styled.timings
        stages = timings.upload, timings.queue, timings.network, timings.download
        assert min(*stages, timings.resize, timings.blend) >= 0
        assert sum(ms for _, ms in timings.groups) == pytest.approx(timings.network)


@pytest.mark.gpu
@pytest.mark.parametrize("shown", [(320, 180), (160, 90)], ids=["its size", "half the size"])
def test_on_a_gpu_a_window_is_given_what_it_paints(shown, catalog, native_kernels):
    engine = Engine(catalog)
    engine.configure(EngineConfig(style="candy", device="cuda", precision=Precision.fp16, size=320))
    pending = engine.begin(Frame(render(0, 320, 180)), ProcessMode.SEQUENCE, screen=shown)
    assert pending is not None
    frame = engine.complete(pending).frame
    assert frame.pixels.shape == (180, 320, 3)
    assert frame.screen is not None
    expected = fit_to(frame.pixels, shown, np.empty((0, 0, 3), np.uint8)).astype(int)
    assert np.abs(frame.screen[..., 2::-1] - expected).max() <= (shown != (320, 180))
    assert (frame.screen[..., 3] == 255).all()


@pytest.mark.gpu
def test_on_a_gpu_another_style_does_not_paint_over_the_frame_ahead(catalog, native_kernels):
    config = EngineConfig(style="candy", device="cuda", precision=Precision.fp16, size=320)
    other = replace(config, style="mosaic")
    frame, engine = Frame(render(0, 320, 180)), Engine(catalog)
    expected = []
    for each in (config, other):
        engine.configure(each)
        expected.append(engine.process(frame, ProcessMode.SEQUENCE).frame.pixels)
    for _ in range(20):
        engine.configure(config)
        first = engine.begin(frame, ProcessMode.SEQUENCE)
        engine.configure(other)
        second = engine.begin(frame, ProcessMode.SEQUENCE)
        assert first is not None
        assert second is not None
        assert (engine.complete(first).frame.pixels == expected[0]).all()
        assert (engine.complete(second).frame.pixels == expected[1]).all()


def test_off_the_gpu_and_in_comparisons_frames_do_not_overlap(engine, config):
    engine.configure(config)
    assert engine.begin(Frame(FRAME)) is None
    compared, cuda = replace(config, compare=True), torch.device("cuda")
    chosen = engine._preparation.choose(Frame(FRAME), compared, ProcessMode.LIVE, cuda)
    assert engine._inference.submit([chosen]) is None


def test_a_broken_frame_that_overlapped_is_computed_again_in_a_safer_precision(
    engine, config, notices, monkeypatch
):
    offer_bf16(monkeypatch)
    engine.configure(replace(config, precision=Precision.bf16, size=64))
    frame = Frame(render(0, 96, 64))
    inferred = engine.infer(frame)
    broken = replace(inferred.rendering, broken=True)
    renderings = {inferred.config.kernels: broken}
    monkeypatch.setattr(engine._inference, "submit", lambda _batch, _screen=None: None)
    monkeypatch.setattr(
        engine._inference, "collect", lambda _, __: [replace(inferred, renderings=renderings)]
    )
    styled = engine.complete(Pending((inferred,), cast("Submitted", None)))
    assert styled.running.precision is Precision.fp32
    assert len(notices) == 1


def test_a_batch_has_a_plan_a_styler_and_a_share_of_the_time_of_its_own(path):
    network = FakeNetwork()
    render_frame(path, network, FRAME, SIZES, Finish(), "a")
    submitted = path.submit(network, [FRAME, FRAME + 1, FRAME + 2], SIZES, Finish(), "a")
    renderings = path.collect(submitted)
    assert [int(each.pixels.max()) for each in renderings] == [1, 2, 3]
    assert {each.batch for each in renderings} == {3}
    assert list(network.plans) == [((24, 16), 1), ((24, 16), 3)]
    assert len(FakeStyler.made) == 2


def test_a_frame_under_way_is_timed_by_a_clock_of_its_own(path):
    network = FakeNetwork()

    def begun():
        return path.submit(network, [FRAME], SIZES, Finish(), "a")

    first, second = begun(), begun()
    assert first.clock is not second.clock
    path.collect(first)
    third = begun()
    assert third.clock is first.clock, "nothing else is timed by it any more"
    assert begun().clock not in (second.clock, third.clock)
    network.device = torch.device("cuda", 0)
    path.collect(second)
    other = begun()
    assert other.clock not in (second.clock, third.clock), "events belong to a device"
    assert other.clock.device == network.device


# The full network on Hopper sums each frame of a batch as it does a single frame. Elsewhere the
# tiles, and with them the order of additions, depend on the batch size.
@pytest.mark.gpu
@pytest.mark.parametrize("size", [320, 160], ids=["the frame's size", "half the size"])
@pytest.mark.parametrize("chosen", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("network", ["full", "lite"])
def test_on_a_gpu_a_batch_is_what_its_frames_are_one_after_another(
    network, chosen, size, catalog, native_kernels
):
    config = EngineConfig(
        style="candy", device="cuda", precision=Precision.fp16, size=size, network=network, **chosen
    )
    frames = [Frame(render(number / 25, 320, 180), number) for number in range(16)]
    alone, together = Engine(catalog), Engine(catalog)
    for engine in (alone, together):
        engine.configure(config)
    expected = [alone.process(frame, ProcessMode.SEQUENCE).frame.pixels for frame in frames]
    pending = [together.begin_batch(frames[n : n + 8], ProcessMode.SEQUENCE) for n in (0, 8)]
    styled = [
        each for batch in pending if batch is not None for each in together.complete_batch(batch)
    ]
    assert [each.frame.index for each in styled] == list(range(16))
    assert {each.batch for each in styled} == {8}
    # On Hopper, the residual layers of a single small picture run in one launch, which sums the
    # statistics in another order.
    hopper = network == "full" and torch.cuda.get_device_capability() == (9, 0)
    for each, one in zip(styled, expected, strict=True):
        apart = np.abs(each.frame.pixels.astype(int) - one)
        assert apart.max() <= (1 if hopper else 2)
