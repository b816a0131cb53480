"""The foot of the studio: progress, and buttons to start, pause and end a run."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from app.training.state import Phase, State
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from utils.translation.texts import tr


class Foot(QFrame):
    """Shows progress, a status and the buttons for the current phase.

    Args:
        on_start: Starts training with the form's values.
        on_cancel: Ends the run; asks first if something would be lost.
    """

    def __init__(
        self,
        on_start: Callable[[], object],
        on_resume: Callable[[], object],
        on_pause: Callable[[], object],
        on_cancel: Callable[[], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("transport")  # styled like the bars of the main window
        self.progress_bar = described(
            QProgressBar(self), tr("Progress"), tr("Progress of the training")
        )
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setFixedHeight(SPACE)
        self.progress_bar.setStyleSheet(
            "QProgressBar { background: palette(base); border: none; border-radius: 4px; }"
            "QProgressBar::chunk { background: palette(highlight); border-radius: 4px; }"
        )
        self.status = QLabel(self)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.status.setWordWrap(True)
        self.status.setAccessibleName(tr("Status of the training"))
        self.start = make_button(
            tr("&Start training"),
            tr("Measure how long it takes, then train (Ctrl+Enter)"),
            on_start,
        )
        self.resume = make_button(
            tr("&Resume"), tr("Continue from the last checkpoint (Ctrl+Enter)"), on_resume
        )
        for primary in (self.start, self.resume):
            primary.setProperty("role", "primary")
        self.pause = make_button(tr("Pau&se"), tr("Pause training; progress is saved"), on_pause)
        self.cancel = make_button(tr("Can&cel"), tr("Stop training and delete this run"), on_cancel)
        self.discard = make_button(
            tr("Delete ru&n"), tr("Delete this run with its checkpoint"), on_cancel
        )
        for each in (self.start, self.resume, self.pause, self.cancel, self.discard):
            each.setAutoDefault(False)
        buttons = (self.discard, self.cancel, self.pause, self.resume, self.start)
        row = fill(QHBoxLayout(), (self.status, 1), *buttons, spacing=SPACE)
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE)
        fill(QVBoxLayout(self), self.progress_bar, row, margins=margins, spacing=SPACE)

    def show_state(self, state: State, text: str, *, startable: bool) -> None:
        """Show the progress, the status and the buttons of a phase.

        Args:
            startable: Whether the form is complete.
        """
        phase = state.phase
        idle, paused = phase is Phase.IDLE, phase is Phase.PAUSED
        cancellable = phase.busy and phase is not Phase.AWAITING_CONFIRMATION
        self.start.setVisible(idle)
        self.start.setEnabled(idle and startable)
        self.pause.setVisible(phase in (Phase.TRAINING, Phase.STOPPING))
        self.pause.setEnabled(phase is Phase.TRAINING)
        self.resume.setVisible(paused)
        self.discard.setVisible(paused)
        self.cancel.setVisible(cancellable)
        self.cancel.setEnabled(phase is not Phase.FINISHING)
        self.progress_bar.setVisible(cancellable)
        self.progress_bar.setRange(0, 0 if state.fraction is None else 1000)
        if state.fraction is not None:
            self.progress_bar.setValue(round(state.fraction * 1000))
        self.status.setText(text)

    def start_or_resume(self) -> None:
        for each in (self.start, self.resume):
            if each.isVisible() and each.isEnabled():
                each.click()
                return
