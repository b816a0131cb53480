"""Previews use the time that the stream leaves free, visible ones first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.frame import Frame
from app.live.loop_events import Between
from app.live.previews.budget import SHARE
from app.live.previews.painter import (
    AREA,
    LONGEST,
    QUIET_S,
    RENEW_S,
    SIZE,
    Preview,
    PreviewPainter,
)
from app.styles.catalog import Catalog
from tests.helpers.fakes import Negative

FRAME_S = 0.05
CONFIG = EngineConfig(style="a", device="cpu")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Painting(Negative):
    """An engine that takes `seconds` per picture and cannot paint the style "broken"."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock, self.seconds = clock, 0.012
        self.evicted: list[str] = []

    def configure(self, config: EngineConfig) -> None:
        if config.style == "broken":
            raise StyleForgeError("its weights are damaged")
        super().configure(config)

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        self.clock.now += self.seconds
        return super().process(frame, mode)

    def evict(self, key: str) -> None:
        self.evicted.append(key)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock) -> Painting:
    return Painting(clock)


@pytest.fixture
def painter(engine, clock) -> PreviewPainter:
    return PreviewPainter(lambda: engine, clock)  # type: ignore[arg-type, return-value]


def frame(value: int = 0) -> Frame:
    return Frame(np.full((90, 160, 3), value, np.uint8))


def still(picture: Frame, config: EngineConfig = CONFIG) -> Between:
    return Between(picture, config, moving=False, idle=True)


def stream(painter: PreviewPainter, clock: Clock, frames: int) -> Iterator[Preview]:
    """Yield the previews painted while a number of frames passes."""
    for number in range(frames):
        clock.now += FRAME_S
        between = Between(frame(number % 256), CONFIG, moving=True, idle=False)
        if (preview := painter.step(between)) is not None:
            yield preview


def fill(painter: PreviewPainter, between: Between) -> list[str]:
    """Return the styles painted one after another while the stream is idle."""
    painted: list[str] = []
    while (preview := painter.step(between)) is not None:
        painted.append(preview.style)
    return painted


@pytest.mark.parametrize(("seconds", "frames"), [(0.003, 1000), (0.012, 2000), (0.4, 20000)])
def test_a_stream_loses_at_most_two_percent_of_its_frames(painter, engine, clock, seconds, frames):
    engine.seconds = seconds
    painter.want([f"style {n}" for n in range(2000)], 2000)
    begun, spent, painted = clock.now, 0.0, 0
    for _ in range(frames):
        clock.now += FRAME_S
        now = clock.now
        if painter.step(Between(frame(), CONFIG, moving=True, idle=False)) is not None:
            assert spent <= SHARE * (now - begun) + 1e-6
            spent += seconds
            painted += 1
    without = (clock.now - begun) / FRAME_S  # frames that would have passed without painting
    assert painted > 10
    assert without - frames <= SHARE * without + seconds / FRAME_S


def test_a_stream_has_its_first_seconds_for_itself(painter, clock):
    painter.want(["a", "b"], 2)
    assert list(stream(painter, clock, 39)) == []
    assert [preview.style for preview in stream(painter, clock, 3)] == ["a"]


def test_every_style_is_painted_at_once_for_a_picture_that_stands_still(painter, clock):
    styles = [f"style {n}" for n in range(20)]
    painter.want(styles, 3)
    assert fill(painter, still(frame())) == styles


@pytest.mark.parametrize(
    ("size", "expected"),
    [((90, 160), (144, 256)), ((120, 160), (144, 192)), ((900, 300), (332, 110))],
    ids=str,
)
def test_a_preview_is_the_whole_picture_in_few_pixels(painter, size, expected):
    painter.want(["a"], 1)
    preview = painter.step(still(Frame(np.zeros((*size, 3), np.uint8))))
    assert preview is not None
    assert preview.pixels is not None
    assert preview.pixels.shape == (*expected, 3)
    assert expected[0] * expected[1] <= AREA
    assert preview.whole


def test_the_preview_of_a_very_long_picture_is_its_middle(painter):
    pixels = np.zeros((20, 400, 3), np.uint8)
    pixels[:, :100] = pixels[:, -100:] = 255  # left and right ends
    painter.want(["a"], 1)
    preview = painter.step(still(Frame(pixels)))
    assert preview is not None
    assert preview.pixels is not None
    assert not preview.whole
    assert preview.pixels.shape[1] / preview.pixels.shape[0] == pytest.approx(LONGEST, rel=0.02)
    assert (preview.pixels == 255).all()  # only the negative of black


def test_nothing_is_painted_while_the_picture_is_computed(painter, clock):
    painter.want(["a"], 1)
    picture = frame()
    assert painter.step(None) is None
    assert painter.step(Between(picture, CONFIG, moving=False, idle=False)) is None
    clock.now += QUIET_S / 2
    assert painter.step(still(picture)) is None
    clock.now += QUIET_S
    assert painter.step(still(picture)) is not None


def test_another_picture_and_another_look_are_painted_anew(painter):
    painter.want(["a", "b"], 2)
    first, second = frame(1), frame(2)
    assert fill(painter, still(first)) == ["a", "b"]
    assert fill(painter, still(first)) == []
    assert fill(painter, still(second)) == ["a", "b"]
    bold = EngineConfig(style="a", device="cpu", strength=0.5)
    assert fill(painter, still(second, bold)) == ["a", "b"]


def test_another_choice_of_style_alone_paints_nothing_anew(painter):
    painter.want(["a", "b"], 2)
    picture = frame()
    fill(painter, still(picture))
    mixed = EngineConfig(style="b", device="cpu", mix="a", mix_amount=0.3)
    assert fill(painter, still(picture, mixed)) == []


def test_cards_show_the_whole_painting_whatever_part_of_the_picture_is_painted(painter, engine):
    painter.want(["a", "b"], 2)
    picture = frame()
    fill(painter, still(picture))
    masked = replace(CONFIG, paint="person", matte="a.mask", feather=0.5, swap_matte=True)
    assert fill(painter, still(picture, masked)) == []
    painter.want(["c"], 1)
    assert fill(painter, still(picture, masked)) == ["c"]
    assert (engine.config.paint, engine.config.matte) == ("all", "")


def test_of_a_stream_the_styles_in_view_are_renewed_and_the_others_painted_once(painter, clock):
    painter.want(["seen", "seen too", "hidden"], 2)
    painted = [preview.style for preview in stream(painter, clock, int(5 * RENEW_S / FRAME_S))]
    assert painted[:3] == ["seen", "seen too", "hidden"]
    assert painted.count("hidden") == 1
    assert painted.count("seen") >= 3
    assert abs(painted.count("seen") - painted.count("seen too")) <= 1


def test_a_style_that_comes_into_view_is_painted_before_the_others(painter, clock):
    painter.want(["a", "b", "c"], 1)
    picture = still(frame())
    assert painter.step(picture).style == "a"  # type: ignore[union-attr]
    painter.want(["c", "a", "b"], 1)
    assert fill(painter, picture) == ["c", "b"]


def test_networks_are_let_go_when_every_preview_is_painted(painter, engine):
    painter.want(["a", "b"], 2)
    picture = still(frame())
    painter.step(picture)
    assert painter.holds_networks
    fill(painter, picture)
    assert not painter.holds_networks
    assert engine.evicted == ["a", "b"]  # the weights of one style at a time


def test_networks_are_let_go_when_no_card_is_in_view(painter):
    painter.want(["a", "b"], 2)
    painter.step(still(frame()))
    painter.want([], 0)
    assert not painter.holds_networks
    assert painter.step(still(frame())) is None


def test_a_style_that_cannot_paint_says_why_and_is_not_tried_again(painter):
    painter.want(["broken", "b"], 2)
    picture = still(frame())
    preview = painter.step(picture)
    assert (preview.style, preview.pixels) == ("broken", None)
    assert preview.reason == "its weights are damaged"
    assert fill(painter, picture) == ["b"]
    painter.evict("broken")  # its files have been replaced
    assert fill(painter, picture) == ["broken"]


def test_the_real_engine_paints_a_style_as_when_it_is_chosen(catalog: Catalog, native_kernels):
    main = Engine(catalog)
    painter = PreviewPainter(main.apart)
    rng = np.random.default_rng(0)
    picture = Frame(rng.integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8))
    config = EngineConfig(style="candy", device="cpu", network="lite", size=SIZE[0])
    painter.want(["mosaic"], 1)
    preview = painter.step(still(picture, config))
    assert preview is not None
    assert preview.pixels is not None
    main.configure(EngineConfig(style="mosaic", device="cpu", network="lite", size=SIZE[0]))
    chosen = main.process(picture, ProcessMode.SINGLE)
    assert np.array_equal(preview.pixels, chosen.frame.pixels)
