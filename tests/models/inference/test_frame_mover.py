"""Paintings that stay on the GPU move with the scene as on the CPU, ahead of the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.display_path import finish_of
from app.engine.post.blending import PostProcessor, fit_to
from kernels.frames.launchers import frame_kernels
from kernels.frames.native_moving import NativeMover
from kernels.network.dispatch import plan_for
from models.inference.frame_mover import FrameMover
from models.inference.frame_styler import DEPTH, FrameStyler
from models.inference.painted_frames import Finish
from models.network_config import network_config
from models.transformer_net import TransformerNetBaseline
from tests.models.inference.test_frame_styler import FRAME, frames, plan

MARKS = ["start", "upload", "resize", "motion", "blend", "download"]
CONFIGS = {
    "plain": EngineConfig(style="candy"),
    "strength and colors": EngineConfig(style="candy", strength=0.6, keep_colors=True),
    "guided and smoothed": EngineConfig(style="candy", smoothing=0.8, upsampling="guided"),
}


def unmarked(_stage: str) -> None: ...


PLAIN = Finish()


def kept_of(styler, frame, finish=PLAIN):
    submission = styler.submit([frame], finish, unmarked, keeps=True)
    submission.wait()
    assert submission.kept is not None
    return submission.kept


@pytest.mark.parametrize("size", [FRAME, (48, 80)], ids=["the same size", "half the size"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@torch.inference_mode()
def test_a_painting_is_moved_to_newer_frames_as_on_the_cpu(config, size, kernels, native_smoothing):
    styler, post, mover = FrameStyler(kernels, FRAME, plan(*size)), PostProcessor(), None
    cpu, finish = NativeMover(*size), finish_of(config, texture=0.0, continues=True)
    for number, frame in enumerate(frames(8)):
        resized = fit_to(frame, (size[1], size[0]), np.empty((0, 0, 3), np.uint8)).copy()
        if number % 4 == 0:
            kept = kept_of(styler, frame, finish)
            assert kept.size == size
            mover = mover or FrameMover(kept)
            mover.painted(kept)
            cpu.painted(kept.pixels.numpy().copy(), resized)
        assert mover is not None
        marks: list[str] = []
        picture = mover.moved(frame, finish, marks.append, (24, 40))
        assert marks == MARKS
        expected = post.enlarge(cpu.shown(resized), resized, frame, config)
        assert np.abs(picture.pixels.astype(int) - expected).max() <= 1
        window = fit_to(picture.pixels, (40, 24), np.empty((0, 0, 3), np.uint8))
        assert picture.screen is not None
        assert np.abs(picture.screen[..., 2::-1].astype(int) - window).max() <= 1


@torch.inference_mode()
def test_the_stream_of_moves_is_ahead_of_the_network(kernels):
    (frame,) = frames(1)
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    mover = FrameMover(kept_of(styler, frame))
    assert mover._side.stream.priority < styler._up.priority


@torch.inference_mode()
def test_a_painting_is_kept_only_on_demand(kernels):
    (frame,) = frames(1)
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    for keeps in (True, False, False, True):
        submission = styler.submit([frame], Finish(), unmarked, keeps=keeps)
        submission.wait()
        assert (submission.kept is not None) == keeps


@torch.inference_mode()
def test_the_next_frame_in_its_place_waits_until_a_painting_is_copied(kernels, monkeypatch):
    given = list(frames(DEPTH + 1))
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    kept = kept_of(styler, given[0])
    waits = []
    monkeypatch.setattr(type(styler._up), "wait_event", lambda _stream, event: waits.append(event))
    kept_of(styler, given[1])
    FrameMover(kept).painted(kept)
    assert kept._read not in waits
    kept_of(styler, given[2])
    assert kept._read in waits


@torch.inference_mode()
def test_pictures_that_were_moved_are_the_callers(kernels):
    given = list(frames(3))
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    kept = kept_of(styler, given[0])
    mover = FrameMover(kept)
    mover.painted(kept)
    first = mover.moved(given[1], Finish(), unmarked).pixels
    copy = first.copy()
    second = mover.moved(given[2], Finish(strength=0.5), unmarked).pixels
    assert (first == copy).all()
    assert (first != second).any()


@torch.inference_mode()
def test_a_graph_of_repeated_frames_keeps_each_painting(kernels, monkeypatch):
    (frame,) = frames(1)
    styler = FrameStyler(kernels, FRAME, plan(48, 80))
    kept_of(styler, frame)
    assert not styler.repeats(Finish(), keeps=True)
    monkeypatch.setattr("models.inference.repeated_work.REPEATS", 1)
    assert styler.repeats(Finish(), keeps=True)
    assert not styler.repeats(Finish())


def styler_on_gpu(size):
    device = torch.device("cuda", torch.cuda.current_device())
    kernels = frame_kernels(device)
    assert kernels is not None
    torch.manual_seed(0)
    state = TransformerNetBaseline().requires_grad_(False).state_dict()
    state["deconv3.conv2d.weight"].mul_(60)
    state["deconv3.conv2d.bias"].add_(128)
    made = plan_for(state, network_config(state), (1, *size), torch.float16, device)
    return FrameStyler(kernels, FRAME, made)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [FRAME, (48, 80)], ids=["the same size", "half the size"])
@torch.inference_mode()
def test_on_a_gpu_paintings_move_while_the_network_paints(size, native_kernels, native_smoothing):
    styler, given, cpu = styler_on_gpu(size), list(frames(30)), NativeMover(*size)
    post, config = PostProcessor(), EngineConfig(style="candy")
    finish = finish_of(config, texture=0.0, continues=True)
    first = kept_of(styler, given[0], finish)
    mover, under_way = FrameMover(first), []

    def take(kept):
        mover.painted(kept)
        with torch.cuda.stream(mover._side.stream):  # the current one waits for the network
            cpu.painted(kept.pixels.cpu().numpy(), kept.source.cpu().numpy())

    take(first)
    mover.moved(given[0], finish, unmarked)  # loads the kernels
    for number, frame in enumerate(given):
        if number % 5 == 0:
            torch.cuda._sleep(100_000_000)  # cycles: the network takes about 50 ms
            under_way.append(styler.submit([frame], finish, unmarked, keeps=True))
        if len(under_way) == DEPTH:
            submission = under_way.pop(0)
            submission.wait()
            kept = submission.kept
            with torch.cuda.stream(mover._side.stream):
                torch.cuda._sleep(2_000_000)  # the next frame in its place has to wait
            take(kept)
        shown = mover.moved(frame, finish, unmarked).pixels
        if number % 5 == 0:
            assert not under_way[-1].ready(), "it did not wait for the network"
        with torch.cuda.stream(mover._side.stream):
            resized = mover._small.cpu().numpy()  # it differs by 1 of 255 here and there
        expected = post.enlarge(cpu.shown(resized), resized, frame, config)
        assert np.abs(shown.astype(int) - expected).max() <= 1
    for submission in under_way:
        submission.wait()
