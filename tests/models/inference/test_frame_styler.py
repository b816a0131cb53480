"""Frames that stay on the GPU become what the engine's own arithmetic makes of them on the CPU."""

from __future__ import annotations

import contextlib
import weakref

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.display_path import finish_of
from app.engine.post.blending import PostProcessor, fit_to
from app.sources.scene import render
from models.inference import frame_styler
from models.inference.frame_styler import Finish, FrameStyler
from models.inference.layerwise_plan import LayerwisePlan
from models.network_config import LITE
from models.transformer_net import TransformerNetBaseline
from tests.kernels.frames.emulated import EmulatedFrameKernels, compiled

FRAME = 96, 160  # height, width
CONFIG = {"num_residual_blocks": 1, "widths": LITE.widths, "end_kernel": LITE.end_kernel}
MARKS = ["upload", "resize", "encoder", "residual blocks", "decoder", "blend", "download"]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("frames"))


@pytest.fixture
def kernels(host, eager, monkeypatch):
    monkeypatch.setattr(
        frame_styler, "_pinned", lambda like: torch.empty(like.shape, dtype=like.dtype)
    )
    stream = contextlib.nullcontext()
    stream.synchronize = lambda: None  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: stream)
    return EmulatedFrameKernels(host)


def trained() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    state = TransformerNetBaseline(**CONFIG).requires_grad_(False).state_dict()
    state["deconv3.conv2d.weight"].mul_(60)
    state["deconv3.conv2d.bias"].add_(128)
    return state


def plan(height: int, width: int) -> LayerwisePlan:
    layers = TransformerNetBaseline(**CONFIG).requires_grad_(False)
    made = LayerwisePlan(
        layers, trained(), (1, height, width), torch.float32, torch.device("cpu"),
        native=False,
    )  # fmt: skip
    replay = made.replay

    def again(mark=None):  # a graph that was captured is submitted again
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
def test_a_stream_becomes_what_the_cpu_makes_of_it(config, size, kernels):
    styler, post = FrameStyler(kernels, FRAME, plan(*size)), PostProcessor()
    smoothed = config.smoothing > 0
    for frame in frames(6):
        marks: list[str] = []
        picture = styler.style(frame, finish_of(config, smoothed=smoothed), marks.append)
        styler.wait()
        assert marks == MARKS
        assert not styler.broken
        resized = fit_to(frame, (size[1], size[0]), np.empty((0, 0, 3), np.uint8))
        post.begin("candy", smoothed=smoothed)
        expected = post.apply("fused", styler.result(), resized, frame, config)
        apart = np.abs(picture.astype(int) - expected)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01


@torch.inference_mode()
def test_a_finished_frame_is_finished_again_with_other_options(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    (frame,) = frames(1)
    first = styler.style(frame, Finish(), lambda _: None)
    kernels.launched.clear()
    assert (styler.finish(Finish(strength=0.0), lambda _: None) == frame).all()
    assert kernels.launched == ["frame_finish"]
    assert (styler.finish(Finish(), lambda _: None) == first).all()


@torch.inference_mode()
def test_only_what_is_asked_for_is_launched(kernels):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    for finish, launched in (
        (Finish(), []),
        (Finish(guided=True), []),
        (Finish(strength=0.5), ["frame_finish"]),
        (Finish(smoothing=0.5), ["frame_cells", "frame_noise", "frame_still", "frame_smooth"]),
    ):
        kernels.launched.clear()
        styler.style(frame, finish, lambda _: None)
        assert kernels.launched == launched


@torch.inference_mode()
def test_the_pictures_of_frames_are_the_callers(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    pictures = [styler.style(frame, Finish(), lambda _: None) for frame in frames(2)]
    copies = [picture.copy() for picture in pictures]
    for frame in frames(3):
        styler.style(frame, Finish(strength=0.5), lambda _: None)
    assert all((a == b).all() for a, b in zip(pictures, copies, strict=True))
    assert (pictures[0] != pictures[1]).any()


@torch.inference_mode()
def test_strokes_of_a_second_size_are_joined(kernels):
    styler = FrameStyler(kernels, FRAME, plan(48, 80), plan(24, 40))
    marks: list[str] = []
    (frame,) = frames(1)
    assert styler.style(frame, Finish(), marks.append).shape == (*FRAME, 3)
    assert marks[: len(MARKS) + 3] == [*MARKS[:5], *MARKS[2:]]


@torch.inference_mode()
def test_a_broken_output_is_told(kernels):
    broken = plan(48, 80)
    weights = {name: weight * float("nan") for name, weight in trained().items()}
    broken.set_weights(weights)
    styler = FrameStyler(kernels, FRAME, broken)
    (frame,) = frames(1)
    styler.style(frame, Finish(), lambda _: None)
    assert styler.broken


def test_the_memory_of_large_pictures_is_not_pinned():
    large = torch.zeros(1, dtype=torch.uint8).expand(2161, 3840, 3)
    buffer = frame_styler._pinned(large)
    assert (buffer.shape, buffer.dtype) == (large.shape, torch.uint8)
    assert not buffer.is_pinned()


@torch.inference_mode()
def test_a_frame_of_any_strides_is_read_before_its_copy_is_freed(kernels, monkeypatch):
    styler = FrameStyler(kernels, FRAME, plan(*FRAME))
    (frame,) = frames(1)
    expected = styler.style(frame, Finish(), lambda _: None).copy()

    def copied(pixels):
        """As numpy's, in memory that is overwritten when the array is gone."""
        memory = bytearray(pixels.tobytes())
        found = np.frombuffer(memory, np.uint8).reshape(pixels.shape)
        weakref.finalize(found, lambda: memory.__setitem__(slice(None), bytes(len(memory))))
        return found

    monkeypatch.setattr(np, "ascontiguousarray", copied)
    by_columns = np.asfortranarray(frame)
    assert (styler.style(by_columns, Finish(), lambda _: None) == expected).all()
