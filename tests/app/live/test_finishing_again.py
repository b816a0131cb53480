"""A still picture follows the brush and sliders without another run of the network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import Engine
from app.engine.matting.brushing import brush, mask_of
from app.engine.matting.masks import hold_mask
from app.engine.network_pool import Network
from app.frame import Frame, FrameSource, SourceInfo
from app.live.frame_loop import FrameLoop
from app.live.loop_events import LoopEvents
from app.live.stream_metrics import StreamMetrics
from tests.app.live.test_fluid import Every
from tests.conftest import picture

WIDTH, HEIGHT = 320, 240


class Strip(FrameSource):
    """Pictures of one name and size, as from several folders."""

    live = False

    def __init__(self) -> None:
        self.info = SourceInfo("a.png", WIDTH, HEIGHT, count=2)
        self.pictures = [picture(WIDTH, HEIGHT, seed=seed) for seed in (1, 2)]
        self._at, self._next = 0, 0

    @property
    def position(self) -> float:
        return float(self._at)

    def step(self, count: int) -> None:
        self._next = (self._at + count) % 2

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self._next is None:
            return None
        self._at, self._next = self._next, None
        self.info = replace(self.info)
        return Frame(self.pictures[self._at])

    def close(self) -> None:
        """Do nothing: nothing is open."""


@pytest.fixture
def masks(tmp_path):
    """Return a function that brushes a mask and returns its file."""

    def make(across: float) -> str:
        mask = mask_of(WIDTH, HEIGHT, full=False)
        brush(mask, [(0.0, 0.5), (across, 0.5)], 0.1, erases=False)
        return str(hold_mask(mask, tmp_path))

    return make


@pytest.fixture
def runs(monkeypatch):
    """Return the size of every input of a network, in order."""
    ran: list[tuple[int, ...]] = []
    render = Network.render

    def watched(self, pixels, **how):
        ran.append(pixels.shape)
        return render(self, pixels, **how)

    monkeypatch.setattr(Network, "render", watched)
    return ran


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def infos() -> list[SourceInfo]:
    return []


@pytest.fixture
def results() -> Every:
    return Every()


@pytest.fixture
def loop(catalog, results, told, infos, native_kernels, monkeypatch):
    monkeypatch.setattr("app.engine.resolution.STROKE_SIZE", 64)
    events = LoopEvents(
        problem=lambda problem: told.append(problem.summary), info_changed=infos.append
    )
    loop = FrameLoop(Engine(catalog), results, StreamMetrics(), events)  # type: ignore[arg-type]
    yield loop
    loop.close()


@pytest.fixture
def source(loop, infos) -> Strip:
    """Open a strip, and know its first picture."""
    source = Strip()
    loop.open(source)
    loop.know_picture(infos[-1])
    return source


def choose(loop, config) -> None:
    loop.wanted = config
    loop.configure(config)


def settle(loop) -> None:
    """Step until the loop has nothing to do."""
    loop.step()
    while not loop.between().idle:
        loop.step()


@pytest.mark.parametrize("size", [None, 64], ids=["automatic", "by hand"])
def test_the_network_does_not_run_while_the_mask_changes(
    loop, source, results, config, runs, masks, size
):
    config = replace(config, size=size)
    choose(loop, config)
    settle(loop)
    count = len(runs)
    assert count == (1 if size else 3)  # a first result, and a refined one at two sizes
    for across in (0.2, 0.5, 0.8):
        wanted = replace(config, matte=masks(across), paint="person")
        choose(loop, wanted)
        settle(loop)
        assert results.all[-1].config == wanted
    assert len(runs) == count
    assert len(results.all) == (1 if size else 2) + 3
    made = results.all[-1]
    assert made.size == results.all[-4].size, "the refined result is finished again"
    outside = np.s_[: HEIGHT // 4]
    assert (made.frame.pixels[outside] == made.source.pixels[outside]).all()
    assert (made.frame.pixels[HEIGHT // 2] != made.source.pixels[HEIGHT // 2]).any()


def test_a_stroke_is_shown_while_the_picture_is_refined(
    loop, source, results, config, masks, monkeypatch
):
    config = replace(config, size=None)
    choose(loop, config)
    loop.step()
    wanted = replace(config, matte=masks(0.8), paint="person")
    between, seen = loop._engine.between_layers, []

    def brushing(share):
        if not seen:
            loop.wanted = wanted
        between(share)
        seen.append(results.all[-1])

    loop._engine.between_layers = brushing
    loop.step()
    first, *_, refined = results.all
    assert not loop.interrupted.is_set()
    assert seen[0].config == wanted
    assert seen[0].size == first.size
    assert seen[-1] is seen[0], "one change is shown once"
    assert refined.config == wanted
    assert refined.size > first.size
    count = len(results.all)
    loop.configure(wanted)
    settle(loop)
    assert len(results.all) == count, "the command finds its result already there"


def test_a_refined_picture_that_is_canceled_is_refined_after_the_next_change(
    loop, source, results, config
):
    config = replace(config, size=None)
    choose(loop, config)
    loop.step()
    between = loop._engine.between_layers

    def canceling(share):
        loop.interrupted.set()
        between(share)

    loop._engine.between_layers = canceling
    loop.step()
    loop._engine.between_layers = between
    loop.cancel()
    settle(loop)
    assert len(results.all) == 1
    choose(loop, replace(config, strength=0.5))
    settle(loop)
    first, again, refined = results.all
    assert again.size == first.size < refined.size
    assert refined.config.strength == 0.5


def test_the_same_choice_again_is_styled_again(loop, source, results, config, runs):
    choose(loop, config)
    settle(loop)
    choose(loop, config)  # as after a style was renamed
    settle(loop)
    assert len(results.all) == 2
    assert len(runs) == 1


def test_a_mask_that_is_gone_is_reported_and_the_picture_stays(
    loop, source, results, config, told, tmp_path
):
    choose(loop, config)
    settle(loop)
    choose(loop, replace(config, matte=str(tmp_path / "gone.mask"), paint="person"))
    settle(loop)
    assert len(told) == 1
    assert results.all[-1].config == config


def test_the_next_picture_of_a_strip_is_not_painted_by_the_mask_of_the_one_before(
    loop, source, results, config, infos, masks
):
    masked = replace(config, matte=masks(0.8), paint="person")
    choose(loop, masked)
    settle(loop)
    assert unpainted(results.all[-1])
    loop.step_source(1)
    settle(loop)
    assert results.all[-1].source.pixels is source.pictures[1]
    assert not unpainted(results.all[-1])
    assert len(infos) == 2, "the other picture has the same name and size"
    choose(loop, replace(masked, matte=masks(0.5)))  # brushed before the window knew
    settle(loop)
    assert not unpainted(results.all[-1])
    loop.know_picture(infos[0])
    choose(loop, replace(masked, matte=masks(0.6)))
    settle(loop)
    assert not unpainted(results.all[-1])
    loop.know_picture(infos[1])
    choose(loop, masked)
    settle(loop)
    assert unpainted(results.all[-1])


def unpainted(styled) -> bool:
    """Return whether the upper part of a result shows the picture."""
    upper = np.s_[: HEIGHT // 4]
    return bool((styled.frame.pixels[upper] == styled.source.pixels[upper]).all())
