"""The tiles of a wall are painted by the fine networks, one after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.frame import Frame
from app.live.frame_loop import Interrupted
from app.live.loop_events import Between
from app.live.previews.tiles import ABOVE_UPRIGHT, AREA, SOFT_SIDE, UNPAINTED, TilePainter
from app.styles.catalog import Catalog
from tests.helpers.fakes import Negative

CONFIG = EngineConfig(style="a", device="cpu")
SIZE = (80, 40)
SECONDS = 0.4  # of a painting


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Painting(Negative):
    """An engine that takes SECONDS per picture and cannot paint the style "broken"."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.configs: list[EngineConfig] = []
        self.evicted: list[str] = []
        self.interrupted = False

    def configure(self, config: EngineConfig) -> None:
        if config.style == "broken":
            raise StyleForgeError("its weights are damaged")
        self.configs.append(config)
        super().configure(config)

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        if self.interrupted:
            raise Interrupted
        self.clock.now += SECONDS
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
def painter(engine, clock) -> TilePainter:
    made = TilePainter(lambda: engine, clock)  # type: ignore[arg-type, return-value]
    made.want(("a", "b", "c"), *SIZE)
    return made


def frame(value: int = 0, width: int = 160, height: int = 90) -> Frame:
    return Frame(np.full((height, width, 3), value, np.uint8))


def still(picture: Frame, config: EngineConfig = CONFIG) -> Between:
    return Between(picture, config, moving=False, idle=True)


def moving(picture: Frame) -> Between:
    return Between(picture, CONFIG, moving=True, idle=False)


def styles(painter: TilePainter, between: Between, steps: int) -> list[str]:
    return [made.style for _ in range(steps) if (made := painter.step(between)) is not None]


def test_the_softened_picture_comes_first_then_each_style_once(painter):
    assert styles(painter, still(frame()), 8) == [UNPAINTED, "a", "b", "c"]


def test_the_softened_picture_is_small_and_in_the_shape_of_a_tile(painter):
    soft = painter.step(still(frame(200)))
    assert soft is not None
    assert soft.pixels.shape == (SOFT_SIDE * SIZE[1] // SIZE[0], SOFT_SIDE, 3)
    assert soft.pixels.mean() == 200


def test_tiles_are_painted_by_the_fine_network_in_the_look_of_the_window(painter, engine):
    styles(painter, still(frame(), replace(CONFIG, network="lite", strength=0.5)), 4)
    assert {config.network for config in engine.configs} == {"full"}
    assert {config.strength for config in engine.configs} == {0.5}


def test_a_tile_has_the_size_of_the_screen_and_shows_the_middle(painter):
    pixels = np.zeros((90, 160, 3), np.uint8)
    pixels[5:-5] = 255  # the rows of an 80:40 cut
    painter.step(still(Frame(pixels)))
    made = painter.step(still(Frame(pixels)))
    assert made is not None
    made = made if made.style else painter.step(still(Frame(pixels)))
    assert made is not None
    assert made.pixels.shape == (SIZE[1], SIZE[0], 3)
    assert made.pixels.max() == 0, "the negative of white"


def test_a_tile_of_an_upright_picture_shows_its_upper_part(painter):
    pixels = np.zeros((160, 80, 3), np.uint8)
    pixels[int(120 * ABOVE_UPRIGHT) :][:40] = 255  # an 80:40 cut leaves 120 rows out
    painter.step(still(Frame(pixels)))
    made = painter.step(still(Frame(pixels)))
    assert made is not None
    assert made.pixels.max() == 0, "the negative of white"


def test_a_tile_on_a_cpu_has_a_limit(painter):
    painter.want(("a",), 1600, 800)
    large = still(frame(0, 3200, 1600))
    styles(painter, large, 1)
    made = painter.step(large)
    assert made is not None
    height, width, _ = made.pixels.shape
    assert 0.97 * AREA < height * width <= AREA


def test_a_moving_picture_is_painted_again_the_oldest_first_after_a_rest(painter, clock):
    assert styles(painter, moving(frame()), 4) == [UNPAINTED, "a", "b", "c"]
    assert painter.step(moving(frame())) is None
    made = []
    for _ in range(4):
        clock.now += SECONDS
        made += styles(painter, moving(frame()), 2)
    assert made == ["a", "b", "c", "a"]


def test_another_look_or_another_size_is_painted_again(painter):
    picture = frame()
    styles(painter, still(picture), 4)
    assert styles(painter, still(picture, replace(CONFIG, strength=0.2)), 4) == ["a", "b", "c"]
    painter.want(("a", "b", "c"), 60, 30)
    assert len(styles(painter, still(picture, replace(CONFIG, strength=0.2)), 4)) == 3


def test_nothing_is_painted_while_nothing_is_wanted_and_no_network_is_held(painter):
    styles(painter, still(frame()), 4)
    assert painter.holds_networks
    painter.want((), *SIZE)
    assert not painter.holds_networks
    assert painter.step(still(frame())) is None


def test_what_was_painted_is_not_painted_again_when_the_wall_returns(painter):
    picture = frame()
    styles(painter, still(picture), 4)
    painter.want((), *SIZE)
    painter.want(("a", "b", "c"), *SIZE)
    assert styles(painter, still(picture), 3) == []


def test_an_interrupted_tile_is_painted_later(painter, engine):
    picture = frame()
    painter.step(still(picture))
    engine.interrupted = True
    assert painter.step(still(picture)) is None
    engine.interrupted = False
    assert styles(painter, still(picture), 3) == ["a", "b", "c"]


def test_a_style_that_cannot_paint_says_why_once(painter):
    painter.want(("broken", "b"), *SIZE)
    picture = frame()
    painter.step(still(picture))
    refused = painter.step(still(picture))
    assert refused is not None
    assert (refused.style, refused.pixels) == ("broken", None)
    assert "weights are damaged" in refused.reason
    assert styles(painter, still(picture), 3) == ["b"]


def test_turning_the_page_drops_the_weights_of_the_page_before(painter, engine):
    styles(painter, still(frame()), 4)
    painter.want(("c", "d"), *SIZE)
    assert sorted(engine.evicted) == ["a", "b"]


@pytest.mark.full
def test_a_tile_is_what_the_engine_paints_of_that_picture():
    """The fine network at the tile's size, from the shipped weights."""
    catalog = Catalog.default()
    rng = np.random.default_rng(3)
    picture = Frame(rng.integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8))
    painter = TilePainter(Engine(catalog).apart)
    painter.want(("candy",), *SIZE)
    between = still(picture, EngineConfig(style="mosaic", device="cpu", network="lite"))
    painter.step(between)
    made = painter.step(between)
    alone = Engine(catalog)
    alone.configure(EngineConfig(style="candy", device="cpu", network="full", size=SIZE[0]))
    assert made is not None
    assert made.pixels is not None
    assert np.array_equal(made.pixels, alone.process(picture, ProcessMode.SINGLE).frame.pixels)
