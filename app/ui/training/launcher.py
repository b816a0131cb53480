"""Connects the studio to the main window: opens it, shows its progress and announces its end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.styles.pack import Style
from app.training.run_store import RunDirectory
from app.training.state import Phase, State
from app.ui.actions import tooltip_with_shortcut
from app.ui.training.window import TrainingWindow
from app.ui.window_context import WindowContext
from utils.translation.texts import tr

SHOWN_MS = 15_000  # desktops may show it more briefly


class TrainingLauncher(QObject):
    """Opens the studio and reports its progress; `keep(photographs=, vgg=)` stores choices."""

    progress_text_changed = Signal(str)  # progress as text; "" without a training
    report_requested = Signal()  # for a problem of the studio

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context.window)
        session, parent = self._session, self._parent = context.session, context.window
        self._current, self._keep, self._picker = context.styled, context.keep, context.dialogs
        self._settings, self._notices = context.settings, context.notices
        self._key = context.actions["train"].shortcut()
        self.window: TrainingWindow | None = None
        self._unfinished_announced = False
        self.notification = Notification(parent)
        session.studio.finished.connect(self._notify)
        session.studio.changed.connect(self._on_state_changed)
        session.studio.unfinished_changed.connect(self._show_unfinished)

    def open(self, picture: Path | None = None, title: str = "") -> None:
        """Show the studio, first with the stored choices; a `picture` of None keeps the form's."""
        if self.window is None:
            self.window = TrainingWindow(
                self._session, self._source_pixels, self._keep, self._picker, self._parent
            )
            self.window.problems.report_requested.connect(self.report_requested)
            settings = self._settings()
            self.window.restore(settings.photographs, settings.vgg, settings.own_pictures)
        if picture is not None:
            self.window.use_picture(picture, title)
        self.window.bring_up()

    def offer(self, style: Style) -> None:
        """Offer to train a style that was created from a picture without training."""
        if style.picture is None or self._session.studio.state.phase is not Phase.IDLE:
            return
        self._notices.show_offer(
            tr("'{title}' is made in an instant. Training makes it finer", title=style.title),
            tr("&Train it..."),
            tr("Open the studio with this painting"),
            lambda: self.open(style.picture, style.title),
        )

    def close(self) -> None:
        """Close the studio; training continues."""
        if self.window is not None:
            self.window.close()

    def _notify(self, style: Style) -> None:
        said = tr("'{title}' is ready", title=style.title)
        self.notification.show(said, tr("It is the last style in the gallery"))

    def _source_pixels(self) -> NDArray[np.uint8] | None:
        styled = self._current()
        return None if styled is None else styled.source.pixels

    def _on_state_changed(self, state: State) -> None:
        words = ""
        if state.phase is Phase.TRAINING and state.fraction is not None:
            words = tr("{percent} % trained", percent=round(100 * state.fraction))
        elif state.phase.busy:
            words = tr("Training")
        self.progress_text_changed.emit(words)
        seen = self.window is not None and self.window.isVisible()
        if state.problem is not None and not seen:
            self._session.problem.emit(state.problem)

    def _show_unfinished(self, runs: tuple[RunDirectory, ...]) -> None:
        if runs and not self._unfinished_announced:
            words = tooltip_with_shortcut(
                tr(
                    "The training of '{title}' is not finished; resume it in the studio",
                    title=runs[0].title,
                ),
                self._key,
            )
            self._session.notice.emit(words)
        self._unfinished_announced = True


class Notification(QObject):
    """Shows a desktop message while `window` is not active."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._icon: QSystemTrayIcon | None = None

    def show(self, title: str, text: str) -> bool:
        """Show a message and mark the window in the task bar.

        Returns:
            Whether the desktop shows the message; otherwise the window's own bar must.
        """
        if QApplication.activeWindow() is not None:
            return False  # the user sees the window's bar
        QApplication.alert(self._window)
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            return False
        if self._icon is None:
            self._icon = QSystemTrayIcon(self._window.windowIcon(), self)
            self._icon.messageClicked.connect(self._raise_window)
        self._icon.show()
        self._icon.showMessage(title, text, self._window.windowIcon(), SHOWN_MS)
        QTimer.singleShot(SHOWN_MS, self._icon, self._icon.hide)
        return True

    def _raise_window(self) -> None:
        if self._window.isMinimized():
            self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()
