"""The studio in another language: its texts, its numbers, its keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from app.live.session import Session
from app.settings import Settings
from app.training.run_store import RunDirectory
from app.training.state import Forecast, Phase, State, TrainingProgress
from app.ui.file_dialogs import FileDialogs
from app.ui.languages import apply_language
from app.ui.training.formatting import status_text
from app.ui.training.window import TrainingWindow
from models.training.presets import PRESETS
from tests.conftest import picture
from tests.helpers.windows import show_window

RUN = RunDirectory(Path("nowhere"), "Wellen", "waves", (), 40_000)


@pytest.fixture
def german(qapp, session: Session, qtbot) -> Iterator[TrainingWindow]:
    """Yield the studio in German, with the advanced controls shown."""
    before = QLocale()
    apply_language(qapp, "de")
    picker = FileDialogs(Settings, lambda **_: None, session.run)
    made = TrainingWindow(session, lambda: picture(80, 60), lambda **_: None, picker)
    qtbot.addWidget(made)
    made.form.advanced_button.setChecked(True)
    made.form.show_vgg(Path("some.pth"))
    show_window(made, qtbot)
    yield made
    apply_language(qapp, "en")
    QLocale.setDefault(before)


def letters(window: QWidget) -> list[str]:
    seen = [w for kind in (QLabel, QAbstractButton) for w in window.findChildren(kind)]
    texts = [w.text() for w in seen if w.isVisible() and w.isEnabled()]
    return [text[text.index("&") + 1].lower() for text in texts if "&" in text]


@pytest.mark.parametrize(
    ("phase", "ask"),
    [
        (Phase.IDLE, lambda window: window.own_pictures.use()),
        (Phase.IDLE, lambda window: window.questions.ask_about_unfinished((RUN, RUN))),
        (Phase.IDLE, lambda window: window._start()),
        (Phase.PAUSED, lambda window: window.questions.ask_for_whole_file("zu alt")),
        (Phase.AWAITING_CONFIRMATION, lambda window: None),
        (Phase.TRAINING, lambda window: None),
    ],
)
def test_no_two_mnemonics_of_the_german_studio_are_the_same(german, session, phase, ask):
    forecast = Forecast(9000.0, 1.0, "CPU", False, PRESETS[0], 900.0)
    session.studio._state = State(phase, RUN, forecast=forecast)
    german._on_state_changed(session.studio.state)
    ask(german)
    session.studio._state = State()
    found = letters(german)
    assert len(found) == len(set(found))
    assert len(found) >= 2


def test_a_tip_of_the_german_studio_names_the_key_of_its_control(german):
    label = {w.buddy(): w.text() for w in german.findChildren(QLabel) if w.buddy()}
    told = {}
    for control in german.findChildren(QWidget):
        named, _, key = control.toolTip().rpartition(" (Alt+")
        if named:
            told[key.rstrip(")")] = label.get(control) or control.text()
    assert len(told) == 6
    assert all(f"&{key}".lower() in text.lower() for key, text in told.items()), told


def test_progress_is_said_in_german_with_german_numbers(german):
    progress = TrainingProgress(1200, 40_000, 90.0, 1.5 / 60, 1)
    state = State(Phase.TRAINING, RUN, progress=progress)
    said = status_text(state)
    assert said.startswith("'Wellen' wird trainiert: Schritt 1.200 von 40.000, ")
    assert said.endswith(", 1,5 Schritte pro Minute; 1 Foto ausgelassen")
    assert status_text(State(Phase.PREPARING, doing="Preparing...")) == "Vorbereitung..."
    assert german.form.preset.currentText() == "Skizze"
