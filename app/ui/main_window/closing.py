"""Closes the window: asks once about everything that runs, and lets it end without blocking."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer

from app.training.state import Phase, State
from app.ui.main_window.parts import WindowParts
from utils.translation.joints import clauses
from utils.translation.texts import tr

LOOK_MS = 20  # between looks at what still runs
LIMIT_S = 30.0  # for everything that runs to end; the window closes afterwards in any case


@dataclass(frozen=True, slots=True)
class Work:
    """Work that has to end before the window closes.

    Attributes:
        runs: Returns whether it is under way.
        stop: Ends it soon and keeps what can be kept. The window calls it again while it runs.
        words: Returns the clause about what quitting does to it; "" for work that simply ends.
    """

    runs: Callable[[], bool]
    stop: Callable[[], object] = lambda: None
    words: Callable[[], str] = lambda: ""


class Closing(QObject):
    """Decides when `window` may close."""

    def __init__(self, window: WindowParts) -> None:
        super().__init__(window)
        self._window = window
        self._works = _works(window)
        self._question = ""
        self._ends_at: float | None = None  # once the window closes
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    def may_close(self) -> bool:
        """Return whether the window may close now.

        If work runs, the window asks first; a second request counts as yes. `leave` follows.
        """
        if self._ends_at is not None:
            return self._has_ended()
        said = [words for work in self._works if work.runs() and (words := work.words())]
        if said and not self._asks():
            self._ask(clauses(said))
            return False
        return self._begin()

    def leave(self) -> None:
        """End all work without asking, then close the window."""
        if self._ends_at is None and self._begin():
            self._window.close()

    def _asks(self) -> bool:
        questions = self._window.questions
        return questions.isVisible() and questions.accessibleDescription() == self._question

    def _ask(self, what: str) -> None:
        self._question = tr("If you quit now: {what}", what=what)
        self._window.questions.ask(
            self._question, tr("&Quit"), lambda _: self.leave(), no=tr("&Keep running")
        )

    def _begin(self) -> bool:
        """Begin to end all work; return whether it has ended already."""
        self._ends_at = time.monotonic() + LIMIT_S
        self._window.questions.dismiss()
        if self._has_ended():
            return True
        self._window.training_launcher.close()
        self._window.notices.show_only(tr("Closing..."))
        self._window.setEnabled(False)
        self._timer.start()
        return False

    def _has_ended(self) -> bool:
        assert self._ends_at is not None
        for work in self._works:
            if work.runs():
                work.stop()
        return time.monotonic() > self._ends_at or not any(work.runs() for work in self._works)

    def _look(self) -> None:
        if self._has_ended():
            self._timer.stop()
            self._window.close()


def _works(window: WindowParts) -> tuple[Work, ...]:
    """Return everything in `window` that has to end before it closes."""
    session, exporter, film = window.session, window.exporter, window.film_exporter
    studio, styles, queue = session.studio, session.style_jobs, window.queue
    return (
        Work(
            lambda: exporter.recording,
            exporter.record,
            lambda: tr("the recording ends and is saved"),
        ),
        Work(
            lambda: film.under_way,
            film.leave,
            lambda: tr(
                "the export of {name} stops and can be resumed at the next start", name=film.name
            ),
        ),
        Work(
            lambda: _trains(studio.state.phase),
            studio.leave,
            lambda: _training_words(studio.state),
        ),
        Work(
            lambda: queue.busy,
            queue.leave,
            lambda: (
                tr("the queue stops and can be continued at the next start")
                if queue.runner.running
                else ""
            ),
        ),
        Work(
            lambda: styles.busy,
            styles.cancel,
            lambda: styles.making and tr("{task}: this is canceled", task=styles.making),
        ),
        Work(lambda: session.writing),
    )


def _trains(phase: Phase) -> bool:
    return phase.busy and phase is not Phase.AWAITING_CONFIRMATION


def _training_words(state: State) -> str:
    """Return what quitting does to a training."""
    title = state.run.title if state.run else ""
    if state.phase is Phase.TRAINING:
        return tr(
            "the training of '{title}' stops and can be resumed at the next start", title=title
        )
    if state.phase in (Phase.PREPARING, Phase.MEASURING):
        return tr("the training of '{title}' is given up before its first step", title=title)
    return ""
