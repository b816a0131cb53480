"""Closes the window: asks once about all running work, then lets it end without blocking."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer

from app.training.state import Phase, State
from app.ui.main_window.parts import WindowParts
from utils.translation.joints import clauses
from utils.translation.texts import tr

LOOK_MS = 20  # between checks of the running work
LIMIT_S = 30.0  # for all work to end; after that, the window closes anyway


@dataclass(frozen=True, slots=True)
class Work:
    """Work that has to end before the window closes.

    Attributes:
        stop: Ends it soon and saves what it can. The window calls it again until the work ends.
        words: Returns the clause that tells what quitting does to the work; "" if it simply ends.
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
        self._ends_at: float | None = None  # deadline once the window is closing
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def would_ask(self) -> bool:
        """Whether work runs that quitting would stop."""
        return bool(self._said())

    def may_close(self) -> bool:
        """Return whether the window may close.

        During work, the first call asks the user and returns False. A call while the question is
        visible counts as consent.
        """
        if self._ends_at is not None:
            return self._has_ended()
        said = self._said()
        if said and not self._asks():
            self._ask(clauses(said))
            return False
        return self._begin()

    def leave(self) -> None:
        """End all work without asking, then close the window."""
        if self._ends_at is None and self._begin():
            self._window.close()

    def _said(self) -> list[str]:
        """Return what quitting does to the running work, in clauses."""
        return [words for work in self._works if work.runs() and (words := work.words())]

    def _asks(self) -> bool:
        questions = self._window.questions
        return questions.isVisible() and questions.accessibleDescription() == self._question

    def _ask(self, what: str) -> None:
        self._question = tr("If you quit now: {what}", what=what)
        self._window.questions.ask(
            self._question,
            tr("&Quit"),
            lambda _: self.leave(),
            no=tr("&Keep running"),
            modal=True,
        )

    def _begin(self) -> bool:
        """Start ending all work; return whether it has already ended."""
        self._ends_at = time.monotonic() + LIMIT_S
        self._window.questions.clear()
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
    session, exporter, film = window.session, window.exporter, window.film_exporter
    studio, styles, queue = session.studio, session.style_jobs, window.queue
    showing, camera = window.showing, window.virtual_camera
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
        Work(
            lambda: showing.projector is not None,
            showing.close,
            lambda: tr("the projector window closes"),
        ),
        Work(
            lambda: camera.camera is not None,
            camera.close,
            lambda: tr("other programs no longer get the painting from the virtual camera"),
        ),
        Work(lambda: session.writing),
    )


def _trains(phase: Phase) -> bool:
    return phase.busy and phase is not Phase.AWAITING_CONFIRMATION


def _training_words(state: State) -> str:
    title = state.run.title if state.run else ""
    if state.phase is Phase.TRAINING:
        return tr(
            "the training of '{title}' stops and can be resumed at the next start", title=title
        )
    if state.phase in (Phase.PREPARING, Phase.MEASURING):
        return tr("the training of '{title}' is canceled before its first step", title=title)
    return ""
