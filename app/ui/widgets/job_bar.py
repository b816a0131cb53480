"""Bars that show the progress of long work and can cancel it."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QWidget

from app.ui.layouts import described
from app.ui.theme.motion import moves
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import bar_layout, make_button, message_label
from utils.translation.texts import mark, tr

DELAY_MS = 300  # shorter work is not shown
IN_BANDS = mark("Painting the picture in bands: {percent} %")
IN_FULL_QUALITY = mark("Painting the picture in full quality: {percent} %")


class JobBar(QFrame):
    """Shows work in progress; hidden otherwise. `canceled` is emitted when the user cancels."""

    canceled = Signal()
    _tells_share = False  # the steps of a job differ too much

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("job")
        self.setAccessibleName(tr("Work in progress"))
        self._label = message_label(self)
        self.progress = described(QProgressBar(self), tr("Progress"), tr("This is being worked on"))
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(20 * SPACE, SPACE)
        self.cancel = make_button(
            tr("Cance&l"), tr("Stop this and discard the result (Esc)"), self._cancel
        )
        bar_layout(self, self._label, self.progress, self.cancel)
        self._delay = QTimer(self, interval=DELAY_MS, singleShot=True)
        self._delay.timeout.connect(self._show)
        self._text = ""
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    def show_progress(self, text: str) -> None:
        """Show `text`, after DELAY_MS if the bar is hidden; "" ends the work."""
        began = bool(text) and not self._text
        self._text = text
        self._label.setText(breakable(text))
        self.setAccessibleDescription(text)
        if not text:
            self._delay.stop()
            self.hide()
        elif began:
            self.cancel.setEnabled(True)
            self._delay.start()

    def _show(self) -> None:
        if not self._tells_share:  # busy, or empty if nothing may move
            self.progress.setRange(0, 0 if moves(self.progress) else 1)
        self.show()

    def _cancel(self) -> None:
        self.cancel.setEnabled(False)
        self.canceled.emit()


class FilmBar(JobBar):
    """Shows the progress of a film export; `paused` is emitted when the user pauses or resumes."""

    paused = Signal(bool)
    _tells_share = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Export of a film"))
        self.progress.setRange(0, 100)
        self.pause = make_button(tr("Pa&use"), tr("Pause or continue the export"), self._toggle)
        self.pause.setCheckable(True)
        row = self.layout()
        assert isinstance(row, QHBoxLayout)
        row.insertWidget(row.indexOf(self.cancel), self.pause)

    def show_export(self, text: str, share: float) -> None:
        """Show `text` and the completed fraction, 0 to 1; "" ends the export."""
        if not text:
            self.pause.setChecked(False)
            self.pause.setText(tr("Pa&use"))
            self.pause.setEnabled(True)
        elif self._text and not self.cancel.isEnabled():
            text = tr("Cancelling...")
        self.progress.setValue(int(100 * share))
        self.show_progress(text)

    def _cancel(self) -> None:
        self.pause.setEnabled(False)
        super()._cancel()
        self.show_progress(tr("Cancelling..."))

    def _toggle(self) -> None:
        paused = self.pause.isChecked()
        self.pause.setText(tr("&Go on") if paused else tr("Pa&use"))
        self.paused.emit(paused)


class SceneBar(JobBar):
    """Shows the seconds until an empty scene is learned, and then how much of it is."""

    _tells_share = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Learning of the empty scene"))
        self.progress.setRange(0, 100)

    def show_share(self, text: str, share: float) -> None:
        """Show `text` and the completed fraction, 0 to 1; "" hides the bar."""
        self.progress.setValue(int(100 * share))
        self.show_progress(text)


class ShareBar(JobBar):
    """Shows the share of a picture that is done, with a text that has {percent}."""

    _tells_share = True

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = text
        self.progress.setRange(0, 100)

    def show_share(self, share: float) -> None:
        """Show the completed fraction, 0 to 1; hide the bar at 1."""
        percent = int(100 * share)
        self.progress.setValue(percent)
        self.show_progress("" if share >= 1 else tr(self._words, percent=percent))
