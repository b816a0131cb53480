"""A still picture announces its refinement, and never shows another style first."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from app.engine.process_mode import ProcessMode
from tests.app.ui.window.conftest import press


@pytest.fixture
def refined(session, monkeypatch):
    """Return an event that refining waits for."""
    goes_on = threading.Event()
    plain = session.engine.infer

    def infer(frame, mode=ProcessMode.LIVE):
        if mode is ProcessMode.REFINE:
            assert goes_on.wait(10)
        return plain(frame, mode)

    monkeypatch.setattr(session.engine, "infer", infer)
    yield goes_on
    goes_on.set()


def test_refining_is_shown_until_the_better_picture_is_there(refined, streaming, qtbot):
    viewport = streaming.viewport
    first = viewport.styled
    qtbot.waitUntil(lambda: viewport._waiting_text == "Refining...", timeout=5000)
    assert viewport.styled is first
    refined.set()
    qtbot.waitUntil(lambda: viewport._waiting_text == "", timeout=5000)
    assert viewport.styled is not first


def test_a_film_goes_on_at_once_although_its_still_is_being_refined(
    moving, session, monkeypatch, qtbot
):
    """Refining checks between layers whether to continue, as networks on a CPU do."""
    plain, began = session.engine.infer, threading.Event()

    def infer(frame, mode=ProcessMode.LIVE):
        if mode is ProcessMode.SEQUENCE:
            began.set()
            for _ in range(1000):
                session.engine.between_layers(None)
                time.sleep(0.01)
        return plain(frame, mode)

    monkeypatch.setattr(session.engine, "infer", infer)
    press(moving, "pause")
    qtbot.waitUntil(began.is_set, timeout=5000)
    with qtbot.waitSignals([session.styled] * 3, timeout=5000):
        press(moving, "pause")
    assert not session.paused


def test_no_result_of_the_style_before_is_shown_after_a_switch(moving, session, qtbot):
    seen: list[tuple[str, str]] = []
    session.styled.connect(lambda styled: seen.append((styled.config.style, session.config.style)))
    for style in ("udnie", "mosaic", "candy"):
        session.config = replace(session.config, style=style)
        qtbot.waitUntil(lambda style=style: moving.viewport.styled.config.style == style)
    assert all(shown == chosen for shown, chosen in seen)
