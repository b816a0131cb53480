"""Frames that stay on the GPU match the engine's own arithmetic on the CPU."""

from __future__ import annotations

import weakref
from collections import deque
from hashlib import sha256

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.display_path import finish_of
from app.engine.post.blending import PostProcessor, fit_to
from app.engine.texture.reference import TextureReference
from app.sources.scene import render
from kernels.frames.launchers import frame_kernels
from kernels.frames.stream_state import StateError
from kernels.network.dispatch import plan_for
from models.inference import frame_styler, repeated_work
from models.inference.frame_pipeline import Pixels
from models.inference.frame_styler import FrameStyler, Submission
from models.inference.layerwise_plan import LayerwisePlan
from models.inference.painted_frames import Finish, Painted
from models.inference.two_resolution import shrink
from models.network_config import LITE, network_config
from models.transformer_net import TransformerNetBaseline
from tests.helpers.daily import some_daily

FRAME = 96, 160  # height, width
CONFIG = {"num_residual_blocks": 1, "widths": LITE.widths, "end_kernel": LITE.end_kernel}
GROUPS = ["encoder", "residual blocks", "decoder"]
MARKS = ["start", "upload", "resize", "queue", "resize", *GROUPS, "blend", "download"]


def style(styler, frame, finish, mark=lambda _: None):
    (picture,) = styler.submit([frame], finish, mark).wait()
    assert not picture.broken
    return picture.pixels


def trained() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    state = TransformerNetBaseline(**CONFIG).requires_grad_(False).state_dict()
    state["deconv3.conv2d.weight"].mul_(60)
    state["deconv3.conv2d.bias"].add_(128)
    return state


def plan(height: int, width: int, samples: int = 1) -> LayerwisePlan:
    layers = TransformerNetBaseline(**CONFIG).requires_grad_(False)
    made = LayerwisePlan(
        layers, trained(), (samples, height, width), torch.float32, torch.device("cpu"),
        native=False,
    )  # fmt: skip
    replay = made.replay

    def again(mark=None):  # a captured graph is submitted again
        made._graphs.clear()
        replay(mark)

    made.replay = again
    return made


def frames(count: int):
    height, width = FRAME
    for number in range(count):
        frame = render(number / 25, width, height).copy()
        frame[:20, number * 5 : number * 5 + 30] = 255 - frame[:20, number * 5 : number * 5 + 30]
        yield np.ascontiguousarray(frame)


def finished(post, output, resized, frame, config):
    """Return what the CPU makes of a network's output."""
    output = post.smooth("fused", output, resized, config)
    return post.enlarge(output, resized, frame, config)


@pytest.mark.parametrize("size", [FRAME, (48, 80)], ids=["the same size", "half the size"])
@pytest.mark.parametrize(
    "config",
    [
        EngineConfig(style="candy"),
        EngineConfig(style="candy", strength=0.6, keep_colors=True),
        EngineConfig(style="candy", smoothing=0.8),
        EngineConfig(style="candy", upsampling="guided"),
        EngineConfig(
            style="candy", strength=0.3, keep_colors=True, smoothing=0.5, upsampling="guided"
        ),
    ],
    ids=["plain", "strength and colors", "smoothing", "guided", "all"],
)
@torch.inference_mode()
def test_a_stream_becomes_what_the_cpu_makes_of_it(config, size, kernels, native_smoothing):
    styler, post = FrameStyler(kernels, FRAME, plan(*size)), PostProcessor()
    smoothed = config.smoothing > 0
    for frame in frames(6):
        marks: list[str] = []
        picture = style(
            styler, frame, finish_of(config, texture=0.0, continues=smoothed), marks.append
        )
        assert marks == MARKS
        resized = fit_to(frame, (size[1], size[0]), np.empty((0, 0, 3), np.uint8))
        post.begin("candy", smoothed=smoothed)
        expected = finished(post, styler.result(), resized, frame, config)
        apart = np.abs(picture.astype(int) - expected)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01


@torch.inference_mode()
def test_a_finished_frame_is_finished_again_with_other_options(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    (frame,) = frames(1)
    submission = styler.submit([frame], Finish(), lambda _: None)
    (first,) = submission.wait()
    kernels.launched.clear()
    (again,) = styler.finish_again(submission, Finish(strength=0.0)).wait()
    assert (again.pixels == frame).all()
    assert kernels.launched == ["frame_finish"]
    (again,) = styler.finish_again(submission, Finish()).wait()
    assert (again.pixels == first.pixels).all()


@torch.inference_mode()
def test_frames_that_overlap_have_buffers_of_their_own(kernels):
    finish = Finish(strength=0.5, guided=True)
    alone = [style(FrameStyler(kernels, FRAME, plan(48, 80)), each, finish) for each in frames(5)]
    styler, under_way, pictures = FrameStyler(kernels, FRAME, plan(48, 80)), [], []
    for frame in frames(5):
        under_way.append(styler.submit([frame], finish, lambda _: None))
        if len(under_way) == frame_styler.DEPTH:
            pictures += under_way.pop(0).wait()
    pictures += [picture for submission in under_way for picture in submission.wait()]
    assert all((a == b.pixels).all() for a, b in zip(alone, pictures, strict=True))


@pytest.mark.parametrize(
    "size", some_daily([(FRAME,), ((48, 80),)], 1), ids=["the same size", "half the size"]
)
@pytest.mark.parametrize(
    "finish",
    [
        Finish(),
        Finish(strength=0.5, keep_colors=True, guided=True),
        Finish(strength=0.5, smoothing=0.8, guided=True),
    ],
    ids=["plain", "mixed", "smoothed"],
)
@torch.inference_mode()
def test_a_batch_becomes_what_its_frames_become_one_after_another(finish, size, kernels):
    given, screen = list(frames(6)), (24, 40)
    single, batches = FrameStyler(kernels, FRAME, plan(*size)), []
    alone = [
        picture
        for frame in given
        for picture in single.submit([frame], finish, lambda _: None, screen).wait()
    ]
    styler, marks = FrameStyler(kernels, FRAME, plan(*size, samples=3)), []
    for batch in (given[:3], given[3:]):
        batches.append(styler.submit(batch, finish, marks.append, screen))
    assert marks == 2 * MARKS
    together = [picture for submission in batches for picture in submission.wait()]
    for one, other in zip(alone, together, strict=True):
        # PyTorch's convolutions may sum a batch in another order.
        assert np.abs(one.pixels.astype(int) - other.pixels).max() <= 1
        assert one.screen is not None
        assert other.screen is not None
        assert np.abs(one.screen.astype(int) - other.screen).max() <= 1


@torch.inference_mode()
def test_a_batch_of_another_number_of_frames_is_refused(kernels):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME, samples=2))
    with pytest.raises(ValueError, match="zip"):
        styler.submit(list(frames(3)), Finish(), lambda _: None)


@torch.inference_mode()
def test_more_frames_than_there_are_buffers_for_are_refused(kernels):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    submissions = [
        styler.submit([frame], Finish(), lambda _: None) for _ in range(frame_styler.DEPTH)
    ]
    with pytest.raises(RuntimeError, match="2 frames"):
        styler.submit([frame], Finish(), lambda _: None)
    submissions[0].wait()
    styler.submit([frame], Finish(), lambda _: None)


@torch.inference_mode()
def test_only_what_is_asked_for_is_launched(kernels):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    motion = ["frame_flow", "frame_flow", "frame_median"] * 3  # in three sizes
    for finish, launched in (
        (Finish(), []),
        (Finish(guided=True), []),
        (Finish(strength=0.5), ["frame_finish"]),
        (
            Finish(smoothing=0.5),
            [
                *("frame_cells", "frame_halve", "frame_halve", *motion),
                *("frame_change", "frame_noise", "frame_same", "frame_smooth"),
            ],
        ),
    ):
        kernels.launched.clear()
        style(styler, frame, finish)
        assert kernels.launched == launched


@torch.inference_mode()
def test_the_pictures_of_frames_are_the_callers(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    pictures = [style(styler, frame, Finish()) for frame in frames(2)]
    copies = [picture.copy() for picture in pictures]
    for frame in frames(3):
        style(styler, frame, Finish(strength=0.5))
    assert all((a == b).all() for a, b in zip(pictures, copies, strict=True))
    assert (pictures[0] != pictures[1]).any()


@torch.inference_mode()
def test_strokes_of_a_second_size_are_joined(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80), plan(24, 40))
    marks: list[str] = []
    (frame,) = frames(1)
    assert style(styler, frame, Finish(), marks.append).shape == (*FRAME, 3)
    assert marks == [*MARKS[:-2], *GROUPS, *MARKS[-2:]]


@torch.inference_mode()
def test_a_broken_output_is_told(kernels):
    broken = plan(48, 80)
    weights = {name: weight * float("nan") for name, weight in trained().items()}
    broken.set_weights(weights)
    styler = FrameStyler(kernels, FRAME, broken)
    (frame,) = frames(1)
    (picture,) = styler.submit([frame], Finish(), lambda _: None).wait()
    assert picture.broken


@torch.inference_mode()
def test_a_broken_output_in_a_batch_is_told_of_its_frame_alone(kernels):
    made = plan(48, 80, samples=2)
    styler, replay = FrameStyler(kernels, FRAME, made), made.replay

    def broken(mark=None):
        replay(mark)
        made.ranges[1] = torch.tensor([0, 0, 7])

    made.replay = broken
    submission = styler.submit(list(frames(2)), Finish(), lambda _: None)
    assert [picture.broken for picture in submission.wait()] == [False, True]


@torch.inference_mode()
def test_a_frame_of_any_strides_is_read_before_its_copy_is_freed(kernels, monkeypatch):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    expected = style(styler, frame, Finish()).copy()

    def copied(pixels):
        """Copy like numpy, into memory that is overwritten once the array is gone."""
        memory = bytearray(pixels.tobytes())
        found = np.frombuffer(memory, np.uint8).reshape(pixels.shape)
        weakref.finalize(found, lambda: memory.__setitem__(slice(None), bytes(len(memory))))
        return found

    monkeypatch.setattr(np, "ascontiguousarray", copied)
    by_columns = np.asfortranarray(frame)
    assert (style(styler, by_columns, Finish()) == expected).all()


@torch.inference_mode()
@pytest.mark.parametrize("size", [(48, 80), (60, 100), FRAME], ids=str)
def test_what_a_window_paints_is_the_displayed_picture(size, kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    given = list(frames(3))
    for frame in given:
        submission = styler.submit([frame], Finish(strength=0.5), lambda _: None, size)
        (picture,) = submission.wait()
        expected = fit_to(picture.pixels, (size[1], size[0]), np.empty((0, 0, 3), np.uint8))
        assert picture.screen is not None
        blue_green_red = picture.screen[..., :3].astype(int)
        assert np.abs(blue_green_red - expected[..., ::-1]).max() <= 1
        assert (picture.screen[..., 3] == 255).all()
    (picture,) = styler.submit([given[0]], Finish(), lambda _: None).wait()
    assert picture.screen is None


@pytest.fixture
def captures(monkeypatch):
    """Count captures and replays of each graph, without running anything on a GPU."""
    counts = {"captured": 0, "replayed": 0}

    class Graph:
        def __init__(self, submit, _pool) -> None:
            counts["captured"] += 1
            self.submit = submit

        def replay(self) -> None:
            counts["replayed"] += 1
            self.submit()

    monkeypatch.setattr(repeated_work, "captured", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    monkeypatch.setattr(repeated_work, "REPEATS", 2)
    return counts


@pytest.mark.parametrize(
    "size", some_daily([(FRAME,), ((48, 80),)], 1), ids=["the same size", "half the size"]
)
@pytest.mark.parametrize(
    "finish",
    [Finish(), Finish(strength=0.5, keep_colors=True, smoothing=0.8, guided=True)],
    ids=["plain", "all"],
)
@torch.inference_mode()
def test_frames_that_repeat_are_graphs_and_become_the_same_pictures(
    finish, size, kernels, captures
):
    screen = (24, 40)
    alone, styler = (FrameStyler(kernels, FRAME, plan(*size)) for _ in range(2))
    launched = 0
    for frame in frames(9):
        (expected,) = alone.submit([frame], finish, lambda _: None, screen).wait()
        repeats = styler.repeats(finish, screen)
        launched += repeats
        mark = None if repeats else lambda _: None
        (picture,) = styler.submit([frame], finish, mark, screen).wait()
        assert (picture.pixels == expected.pixels).all()
        assert (picture.screen == expected.screen).all()
    assert launched == 7
    graphs = 1 if size == FRAME else 2  # a second graph scales frames
    # For each set of buffers.
    assert captures == {"captured": 2 * graphs, "replayed": 5 * graphs}


@torch.inference_mode()
def test_another_choice_or_a_new_stream_is_not_what_was_captured(kernels, captures):
    smoothed = Finish(smoothing=0.5)
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    for _ in range(3):
        style(styler, frame, smoothed)
    assert styler.repeats(smoothed)
    assert not styler.repeats(smoothed, (24, 40))
    assert not styler.repeats(Finish())
    styler.forget()
    assert not styler.repeats(smoothed), "the first frame of a stream is not smoothed"
    style(styler, frame, smoothed)
    assert styler.repeats(smoothed)
    style(styler, frame, Finish())
    assert not styler.repeats(smoothed)


@pytest.mark.full
@torch.inference_mode()
def test_strokes_of_a_second_size_are_launched_one_after_another(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80), plan(24, 40))
    (frame,) = frames(1)
    for _ in range(repeated_work.REPEATS + 1):
        style(styler, frame, Finish())
    assert not styler.repeats(Finish())


def walls(count: int, step: int = 0):
    """Yield frames of a wall with a painting in a corner, which moves to the right."""
    for number in range(count):
        frame = np.full((*FRAME, 3), 120, np.uint8)
        painting = render(0, FRAME[1], FRAME[0])[20:50, 40:80]
        frame[4:34, 4 + number * step : 44 + number * step] = painting
        yield frame


@pytest.mark.parametrize("size", [FRAME, (48, 80)], ids=["the same size", "half the size"])
@torch.inference_mode()
def test_the_network_is_given_texture_and_the_rest_the_clean_frame(size, kernels, native_smoothing):
    config = EngineConfig(
        style="candy", texture=1.0, strength=0.8, smoothing=0.5, upsampling="guided"
    )
    made = plan(*size)
    styler, post, texture = FrameStyler(kernels, FRAME, made), PostProcessor(), TextureReference()
    finish = finish_of(config, texture=1.0, continues=True)
    for frame in walls(4, 2):
        submission = styler.submit([frame], finish, lambda _: None)
        (picture,) = submission.wait()
        resized = fit_to(frame, (size[1], size[0]), np.empty((0, 0, 3), np.uint8))
        (given,) = texture.apply((resized,), 1.0, continues=True)
        apart = np.abs(made.frames[0].numpy().astype(int) - given)
        assert (given != resized).mean() > 0.05
        assert apart.max() <= (1 if not styler._textured._history.offset.any() else 8)
        post.begin("candy", smoothed=True)
        expected = finished(post, styler.result(), resized, frame, config)
        assert np.abs(picture.pixels.astype(int) - expected).max() <= 1
        (again,) = styler.finish_again(submission, finish).wait()
        assert (again.pixels == picture.pixels).all()


@torch.inference_mode()
def test_the_networks_of_both_sizes_are_given_one_texture(kernels):
    detail, strokes = plan(*FRAME), plan(48, 80)
    styler = FrameStyler(kernels, FRAME, detail, strokes)
    (frame,) = walls(1)
    style(styler, frame, Finish(texture=0.8))
    small = shrink(torch.from_numpy(frame)[None], 48, 80)[0].numpy()
    expected = TextureReference().apply((frame, small), 0.8, continues=False)
    for made, wanted in zip((detail, strokes), expected, strict=True):
        assert np.abs(made.frames[0].numpy().astype(int) - wanted).max() <= 1
    assert (expected[0] != frame).any()


@torch.inference_mode()
def test_in_a_batch_the_texture_moves_from_frame_to_frame(kernels):
    given, finish = list(walls(6, 3)), Finish(texture=1.0, follows=True)
    inputs = []
    for samples in (1, 3):
        made = plan(48, 80, samples)
        styler = FrameStyler(kernels, FRAME, made)
        shown = []
        for first in range(0, 6, samples):
            styler.submit(given[first : first + samples], finish, lambda _: None).wait()
            shown += list(made.frames.clone())
        inputs.append(shown)
        assert styler._textured._history.offset[0] > 4
    assert all(torch.equal(one, other) for one, other in zip(*inputs, strict=True))


@torch.inference_mode()
def test_texture_begins_anew_after_frames_without_and_with_a_new_stream(kernels):
    made = plan(*FRAME)
    styler, finish = FrameStyler(kernels, FRAME, made), Finish(texture=1.0, follows=True)
    given = list(walls(4, 3))
    for end in (lambda: style(styler, given[0], Finish()), styler.forget):
        for frame in given[:3]:
            style(styler, frame, finish)
        assert styler._textured._history.offset.any()
        end()
        style(styler, given[3], finish)
        assert not styler._textured._history.offset.any()
    (alone,) = TextureReference().apply((given[3],), 1.0, continues=True)
    assert np.abs(made.frames[0].numpy().astype(int) - alone).max() <= 1


@pytest.mark.parametrize(
    "sizes", some_daily([[FRAME], [FRAME, (48, 80)]], 1), ids=["one size", "strokes"]
)
@torch.inference_mode()
def test_a_stream_goes_on_in_another_styler(kernels, sizes):
    def styler() -> FrameStyler:
        return FrameStyler(kernels, FRAME, *(plan(*size) for size in sizes))

    finish = Finish(smoothing=0.8, texture=0.7, follows=True)
    given = list(walls(8, 3))
    whole, first, second, fresh = (styler() for _ in range(4))
    expected = [style(whole, frame, finish) for frame in given]
    for frame in given[:4]:
        style(first, frame, finish)
    style(second, given[7], finish)  # its history is discarded
    second.forget()
    second.restore(first.state())
    for frame, wanted in zip(given[4:], expected[4:], strict=True):
        assert (style(second, frame, finish) == wanted).all()
    assert (style(fresh, given[4], finish) != expected[4]).any()
    fresh.forget()
    assert not fresh.state()
    with pytest.raises(StateError, match="size"):
        FrameStyler(kernels, FRAME, plan(48, 80)).restore(first.state())


@torch.inference_mode()
def test_frames_with_texture_are_graphs_from_the_second_of_a_stream_on(kernels, captures):
    finish = Finish(texture=0.5, follows=True)
    alone, styler = (FrameStyler(kernels, FRAME, plan(48, 80)) for _ in range(2))
    launched = 0
    for frame in walls(6, 2):
        expected = style(alone, frame, finish)
        repeats = styler.repeats(finish)
        launched += repeats
        (picture,) = styler.submit([frame], finish, None if repeats else lambda _: None).wait()
        assert (picture.pixels == expected).all()
    assert launched == 4
    styler.forget()
    assert not styler.repeats(finish), "the first frame of a stream has no motion"
    assert not styler.repeats(Finish(texture=0.6, follows=True))


@pytest.mark.parametrize("size", [FRAME, (48, 80)], ids=["the same size", "half the size"])
@torch.inference_mode()
def test_what_the_network_is_given_is_made_on_the_stream_of_uploads(
    size, kernels, captures, monkeypatch
):
    made = plan(*size)
    styler, finish = FrameStyler(kernels, FRAME, made), Finish(strength=0.5, texture=0.5)
    current, launched, before = [styler._compute], [], made.frames.clone()
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: current.append(stream))
    launch = kernels._launch

    def waited(event):
        assert event.recorded
        assert torch.equal(made.frames, before), "the network may read them until then"

    def noted(name, *arguments, **options):
        launched.append((name, current[-1]))
        launch(name, *arguments, **options)

    monkeypatch.setattr(kernels, "_launch", noted)
    monkeypatch.setattr(styler._compute, "wait_event", waited)
    for number, frame in enumerate(walls(6, 1)):
        launched.clear()
        mark = None if styler.repeats(finish) else lambda _: None
        assert (mark is None) == (number >= repeated_work.REPEATS)
        styler.submit([frame], finish, mark).wait()
        given = ["frame_texture_cells", "frame_texture_flat", "frame_texture_add"]
        given = given if size == FRAME else ["frame_resize", *given]
        assert launched == [(name, styler._up) for name in given] + [
            ("frame_finish", styler._compute)
        ]
        assert not torch.equal(made.frames, before)
        before.copy_(made.frames)


@torch.inference_mode()
def test_frames_with_other_options_are_other_graphs_on_either_stream(kernels, captures):
    alone, styler = (FrameStyler(kernels, FRAME, plan(48, 80)) for _ in range(2))
    for amount in (0.5, 1.0):
        finish, launched = Finish(texture=amount, follows=True), 0
        for frame in walls(6, 2):
            expected = style(alone, frame, finish)
            repeats = styler.repeats(finish)
            launched += repeats
            (picture,) = styler.submit([frame], finish, None if repeats else lambda _: None).wait()
            assert (picture.pixels == expected).all()
        assert launched == 4
    assert captures["captured"] == 8


# The changes in the streams of the next test.
STREAMS = (
    Finish(texture=1.0, follows=True),
    Finish(strength=0.7, keep_colors=True, guided=True, smoothing=0.6, texture=0.5, follows=True),
    Finish(smoothing=0.5),
    Finish(texture=0.5),
)


def bits(pictures: list[Painted]) -> list[str]:
    both = [(picture.pixels, picture.screen) for picture in pictures]
    assert not any(picture.broken for picture in pictures)
    return [
        sha256(each.tobytes()).hexdigest() for pair in both for each in pair if each is not None
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize(
    "sizes",
    [((288, 512),), ((144, 256),), ((288, 512), (144, 256)), ((144, 256), (72, 128))],
    ids=["the same size", "half the size", "strokes of half", "half, strokes of a quarter"],
)
@torch.inference_mode()
def test_on_a_gpu_a_stream_that_overlaps_has_the_bits_of_frames_alone(
    sizes, samples, native_kernels, monkeypatch
):
    monkeypatch.setattr(repeated_work, "REPEATS", 6)
    device, screen = torch.device("cuda", torch.cuda.current_device()), (144, 256)
    kernels = frame_kernels(device)
    assert kernels is not None
    torch.manual_seed(0)
    state = TransformerNetBaseline().requires_grad_(False).state_dict()
    state["deconv3.conv2d.weight"].mul_(60)
    state["deconv3.conv2d.bias"].add_(128)

    def styler() -> FrameStyler:
        plans = [
            plan_for(state, network_config(state), (samples, *size), torch.float16, device)
            for size in sizes
        ]
        return FrameStyler(kernels, (288, 512), *plans)

    alone, overlapping = styler(), styler()
    seen = [np.ascontiguousarray(render(number / 60, 512, 288)) for number in range(32)]
    random, finish = np.random.default_rng(1), STREAMS[0]
    steps: list[tuple[list[Pixels], Finish, bool]] = []
    for number in range(200):
        if number % 20 == 19:
            finish = STREAMS[random.integers(len(STREAMS))]
        batch = [seen[(number * samples + place) % len(seen)] for place in range(samples)]
        steps.append((batch, finish, bool(random.random() < 0.02)))
    expected: list[list[str]] = []
    for batch, finish, forgets in steps:
        if forgets:
            alone.forget()
        expected.append(bits(alone.submit(batch, finish, lambda _: None, screen).wait()))
    under_way: deque[Submission] = deque()
    painted: list[list[str]] = []
    launched = 0
    for number, (batch, finish, forgets) in enumerate(steps):
        if forgets:
            overlapping.forget()
        # One of the streams is delayed, so that neither waits for its turn by chance.
        late = number * 7 % 3
        with torch.cuda.stream(overlapping._up if late == 1 else torch.cuda.current_stream()):
            torch.cuda._sleep(2_000_000 if late else 0)  # cycles: 1 ms
        repeats = number % 8 > 0 and overlapping.repeats(finish, screen)
        launched += repeats
        mark = None if repeats else lambda _: None
        under_way.append(overlapping.submit(batch, finish, mark, screen))
        if len(under_way) == frame_styler.DEPTH:
            painted.append(bits(under_way.popleft().wait()))
    painted += [bits(submission.wait()) for submission in under_way]
    apart = [number for number, step in enumerate(painted) if step != expected[number]]
    assert len(painted) == len(expected)
    assert not apart
    assert (launched > 50) == (len(sizes) == 1), "strokes of their own are launched one by one"
