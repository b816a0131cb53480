"""The studio's window, alone and next to the main one: all is reachable, and no loss is silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QWidget,
)

from app.settings import Settings
from app.training.request import TrainingRequest
from app.training.run_store import LossPoint, RunStore
from app.training.state import Phase, State
from app.ui.main_window import MainWindow
from app.ui.training.choice_card import Answer, ChoiceCard
from app.ui.training.formatting import caption_text, shows_new_style
from app.ui.training.loss_plot import LossPlot
from tests.app.training.conftest import LONG, PATIENCE, fields, filled, learning, until
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.windows import show_window

# The window


def controls(window: QWidget) -> list[QWidget]:
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QLineEdit)
    found = [w for kind in kinds for w in window.findChildren(kind)]
    return [w for w in found if w.focusPolicy() != Qt.FocusPolicy.NoFocus]


def test_every_control_has_an_accessible_name_and_a_tooltip(window):
    window.choice_card.ask("x", "Why?", Answer("&Yes", "Answer yes", lambda: None))
    found = controls(window)
    assert len(found) > 12
    assert [w for w in found if not w.accessibleName() or not w.toolTip()] == []
    results = window.results
    shown = (results.preview, results.loss_plot, window.foot.progress_bar)
    assert all(w.accessibleName() for w in shown)


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.TRAINING, Phase.PAUSED, Phase.MEASURING])
def test_no_two_mnemonics_on_screen_are_the_same(window, phase):
    window.form.advanced_button.setChecked(True)
    window.form.show_vgg(Path("some.pth"))
    window._on_state_changed(State(phase))
    seen = [w for kind in (QLabel, QAbstractButton) for w in window.findChildren(kind)]
    texts = [w.text() for w in seen if w.isVisible() and w.isEnabled()]
    letters = [t[t.index("&") + 1].lower() for t in texts if "&" in t]
    assert len(letters) == len(set(letters))


def test_tab_reaches_every_control_of_the_form(window, order, qtbot):
    filled(window, order, qtbot)
    window.form.advanced_button.setChecked(True)
    wanted = {w for w in controls(window) if w.isVisible() and w.isEnabled()}
    window.form.picture.setFocus()
    reached = set()
    for _ in range(2 * len(wanted)):
        reached.add(QApplication.focusWidget())
        QTest.keyClick(window, Qt.Key.Key_Tab)
    assert wanted <= reached


@pytest.mark.full
def test_an_unfinished_run_shows_its_own_order_and_a_damaged_one_says_so(
    window, session, order, qtbot, runs
):
    run = RunStore(runs).create(order, picture(), picture())
    run.checkpoint.parent.mkdir()
    run.checkpoint.write_bytes(b"damaged")
    window.form.title.setText("Mine")
    window.starter.resume_run(run)
    assert window.form.title.text() == "Red stripes"
    state = until(qtbot, session.studio, Phase.PAUSED)
    assert state.problem is not None
    assert mentions(state.problem.summary, "style.training.pt", "training checkpoint")
    assert window.problems.isVisible()
    window.foot.discard.click()  # no progress is lost, so there is no question
    until(qtbot, session.studio, Phase.IDLE)
    assert window.form.title.text() == "Mine"
    assert not list(runs.iterdir())


@pytest.mark.full
def test_what_was_learned_is_thrown_away_only_after_asking(window, session, order, qtbot, runs):
    session.studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, session.studio)
    window.foot.cancel.click()
    go_on, _, _ = window.choice_card.buttons
    assert "Stop training 'Red stripes'" in window.choice_card.question
    assert go_on.hasFocus()
    go_on.click()
    assert session.studio.state.phase is Phase.TRAINING
    window.foot.cancel.click()
    _, _, delete = window.choice_card.buttons
    delete.click()
    until(qtbot, session.studio, Phase.IDLE)
    assert not list(runs.iterdir())


def test_the_curves_say_in_words_what_they_show(qtbot):
    curves = LossPlot()
    qtbot.addWidget(curves)
    curves.resize(420, 190)
    assert curves.accessibleDescription() == "No losses yet"
    blank = curves.grab().toImage()
    points = [LossPoint(n, 1.0 / n, 0.5 / n, 2.0 / n) for n in range(1, 60)]
    curves.set_points(points, 100)
    assert curves.accessibleDescription().startswith("Total loss 0.0")
    assert "falling from 2;" in curves.accessibleDescription()
    assert curves.accessibleDescription().endswith("step 59 of 100")
    drawn = curves.grab().toImage()
    assert drawn != blank
    points.append(LossPoint(60, 0.0, 0.0, 0.0))  # it has no logarithm
    curves.set_points(points, 100)
    assert curves.grab().toImage() != drawn


def test_a_question_is_answered_once(qtbot):
    bar = ChoiceCard()
    qtbot.addWidget(bar)
    given = []
    bar.ask("a", "Shall we?", Answer("&Yes", "Yes", lambda: given.append(1)))
    bar.withdraw("b")
    assert bar.question == "Shall we?"
    bar.buttons[0].click()
    assert given == [1]
    assert (bar.question, bar.buttons) == ("", ())


# The main window


@pytest.fixture
def main_window(session, qtbot) -> Iterator[MainWindow]:
    made = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(made)
    show_window(made, qtbot)
    yield made
    made.theme.choice = "system"


def test_ctrl_t_opens_the_studio_beside_the_picture(main_window):
    main_window.viewport.setFocus()
    QTest.keyClick(main_window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    opened = main_window.training_launcher.window
    assert opened is not None
    assert opened.isVisible()
    assert not opened.isModal()


@pytest.mark.full
def test_quitting_while_training_asks_and_keeps_what_was_learned(
    main_window, session, order, qtbot, runs
):
    session.studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, session.studio)
    assert not main_window.close()
    assert main_window.isVisible()
    assert main_window.questions.isVisible()
    main_window.questions.dismiss()
    assert not main_window.close()
    main_window.questions.accept.click()
    qtbot.waitUntil(lambda: not main_window.isVisible(), timeout=PATIENCE)
    (run,) = RunStore(runs).all()
    assert run.worth_keeping


def test_an_unfinished_run_is_told_of_at_the_start(order, session, qtbot, runs):
    run = RunStore(runs).create(order, picture(), picture())
    run.checkpoint.parent.mkdir()
    run.checkpoint.touch()
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: "'Red stripes' is not finished" in window.notices.text)
    window.actions_by_key["train"].trigger()
    assert window.training_launcher.window is not None
    asking = window.training_launcher.window.choice_card
    qtbot.waitUntil(lambda: asking.topic == "unfinished")
    asking.buttons[1].click()
    qtbot.waitUntil(lambda: not run.path.exists())
    window.close()
    window.theme.choice = "system"


@pytest.mark.parametrize(
    ("step", "steps", "shown"),
    [(1, 1000, False), (29, 1000, False), (30, 1000, True), (4, 4, True)],
)
def test_a_preview_is_shown_once_it_is_of_the_new_style(step, steps, shown):
    assert shows_new_style(step, steps) is shown
    assert caption_text(step) == f"Step {step}"
