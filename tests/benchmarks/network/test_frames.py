"""The times of whole frames."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from benchmarks.network.frames import measure_runners, measure_texture
from models.inference.painted_frames import Finish
from tests.conftest import picture


class Echo:
    """A path and a stream that count frames and check that no more than two are in flight."""

    def __init__(self) -> None:
        self.styled = self.sent = self.received = 0
        self._slot = picture(32, 24)

    def style(self, pixels: object) -> None:
        self.styled += 1

    def slot(self) -> object:
        return self._slot

    def send(self) -> None:
        self.sent += 1
        assert self.sent - self.received <= 2

    def receive(self) -> None:
        self.received += 1


def test_frame_to_frame_times_single_frames_and_the_gaps_between_overlapped_ones():
    echo: Any = Echo()
    figures = measure_runners(echo, echo, picture(32, 24), alone=7, streamed=11)
    assert figures["latency"]["iterations"] == 7
    assert figures["interval"]["iterations"] == 11
    assert figures["fps"] == pytest.approx(1e3 / figures["interval"]["mean_ms"])
    assert echo.sent == echo.received, "no frame is left under way"


class Waited:
    """A styler whose frames take 2 seconds of `now`, 3 with texture, 4 with directed strokes."""

    def __init__(self) -> None:
        self.now, self.under_way, self.given = 0.0, 0, []

    def submit(self, frames: list[object], finish: Finish, mark: None) -> Waited:
        self.under_way += 1
        assert self.under_way <= 2
        textured = finish.texture > 0 and finish.follows
        self.given.append((frames[0], 4.0 if finish.comb else 3.0 if textured else 2.0))
        return self

    def wait(self) -> None:
        self.under_way -= 1
        self.now += self.given[-1][1]


def test_frames_with_texture_are_timed_beside_those_without(monkeypatch):
    styler: Any = Waited()
    monkeypatch.setattr("benchmarks.network.frames.time.perf_counter", lambda: styler.now)
    frames: Any = ["first", "second"]
    found = measure_texture(styler, frames, streamed=12)
    assert (found["off"]["median_ms"], found["on"]["median_ms"]) == (2000, 3000)
    assert [found[name]["median_ms"] for name in ("follow", "swirl", "one way")] == [4000] * 3
    assert {row["iterations"] for row in found.values()} == {12}
    assert styler.under_way == 0, "no frame is left under way"
    assert [frame for frame, _ in styler.given[:3]] == ["first", "second", "first"]
    changes = [a != b for a, b in pairwise(seconds for _, seconds in styler.given)]
    assert sum(changes) == 11, "four rounds of each, in turn"
