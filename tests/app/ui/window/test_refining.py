"""A still picture says that it gets better, and another style is not seen first."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from app.engine.process_mode import ProcessMode
from app.ui.controllers.loading_message import refining_words


@pytest.fixture
def refined(session, monkeypatch):
    """An event that refining waits for."""
    goes_on = threading.Event()
    plain = session.engine.infer

    def infer(frame, mode=ProcessMode.LIVE):
        if mode is ProcessMode.REFINE:
            assert goes_on.wait(10)
        return plain(frame, mode)

    monkeypatch.setattr(session.engine, "infer", infer)
    monkeypatch.setattr(session.engine, "expected_ms", lambda frame, mode: 60_000.0)
    yield goes_on
    goes_on.set()


def test_refining_is_shown_until_the_better_picture_is_there(refined, streaming, qtbot):
    viewport = streaming.viewport
    first = viewport.styled
    qtbot.waitUntil(lambda: viewport._waiting_text.startswith("Refining "), timeout=5000)
    assert viewport._waiting_text.endswith(" %")
    assert viewport.styled is first
    refined.set()
    qtbot.waitUntil(lambda: viewport._waiting_text == "", timeout=5000)
    assert viewport.styled is not first


def test_the_share_is_that_of_the_expected_time():
    assert refining_words(2.0, 5.0) == "Refining 40 %"
    assert refining_words(9.0, 5.0) == "Refining 99 %"
    assert refining_words(1.0, -1.0) == "Refining..."


def test_no_result_of_the_style_before_is_shown_after_a_switch(moving, session, qtbot):
    seen: list[tuple[str, str]] = []
    session.styled.connect(lambda styled: seen.append((styled.config.style, session.config.style)))
    for style in ("udnie", "mosaic", "candy"):
        session.config = replace(session.config, style=style)
        qtbot.waitUntil(lambda style=style: moving.viewport.styled.config.style == style)
    assert all(shown == chosen for shown, chosen in seen)
