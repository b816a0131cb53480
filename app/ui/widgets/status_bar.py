"""The status bar: the running network in plain words, and the actual format of the source."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.frame import SourceInfo
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from utils.text import clock
from utils.translation.joints import clauses, enumerated
from utils.translation.numbers import significant
from utils.translation.texts import tr, trn


def source_text(info: SourceInfo | None) -> str:
    """Return text such as "Camera 'HD Pro', 640x480, 30 fps; requested 1280x720"."""
    if info is None:
        return tr("No source")
    parts = [info.title, f"{info.width}x{info.height}"]
    if info.fps:
        parts.append(tr("{fps} fps", fps=significant(info.fps, 4)))
    if info.duration:
        parts.append(clock(int(info.duration)))
    if info.count > 1:
        parts.append(trn("{n} picture", "{n} pictures", info.count))
    return clauses((enumerated(parts), info.note))


class ElidedLabel(QLabel):
    """A one-line label, elided if too long, since wrapping would move the picture."""

    def show_text(self, text: str) -> None:
        """Show a text, also as the tooltip; "" hides the label."""
        self.setText(text)
        self.setToolTip(text)
        self.setVisible(bool(text))

    def minimumSizeHint(self) -> QSize:
        """Return a size of width 0, since excess text is elided."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        shown = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.width()
        )
        self.style().drawItemText(
            QPainter(self),
            self.rect(),
            self.alignment(),
            self.palette(),
            self.isEnabled(),
            shown,
            self.foregroundRole(),
        )


class StatusBar(QFrame):
    """The bar at the bottom, of constant height, with the button `details`."""

    def __init__(self, details: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.running = self._label(
            tr("Device and style version in use"), Qt.AlignmentFlag.AlignLeft
        )
        self.progress = self._label(tr("Getting faster"), Qt.AlignmentFlag.AlignHCenter)
        self.progress.hide()
        self.details = details
        policy = details.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # otherwise the bar would grow and move the picture
        details.setSizePolicy(policy)
        details.hide()
        self.camera = self._label(tr("Virtual camera"), Qt.AlignmentFlag.AlignHCenter)
        self.camera.hide()
        self.projector = self._label(tr("Projector"), Qt.AlignmentFlag.AlignHCenter)
        self.projector.hide()
        self.source = self._label(tr("Source"), Qt.AlignmentFlag.AlignRight)
        self.running.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        left = ((self.running, 4), details, None)
        right = ((self.progress, 3), (self.camera, 2), (self.projector, 2), (self.source, 2))
        margins = (2 * SPACE, 0, 2 * SPACE, 0)
        fill(QHBoxLayout(self), *left, *right, margins=margins, spacing=SPACE)

    def _label(self, name: str, side: Qt.AlignmentFlag) -> ElidedLabel:
        label = described(ElidedLabel(self), name, name)
        label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("role", "muted")
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return label

    def show_running(self, words: str, details: str = "") -> None:
        """Show the running network and device; the tooltip adds the technical `details`."""
        tip = f"{words}\n{details}" if details else words
        if tip != self.running.toolTip():
            self.running.setText(words)
            self.running.setToolTip(tip)
            self.details.setVisible(bool(details))

    def show_progress(self, text: str) -> None:
        """Show a background task that will speed up the program; "" for none."""
        self.progress.show_text(text)

    def show_camera(self, text: str) -> None:
        """Show the state of the virtual camera; "" while it is off."""
        self.camera.show_text(text)

    def show_projector(self, *, shown: bool) -> None:
        """Show whether the projector window is open."""
        self.projector.show_text(tr("The projector is open") if shown else "")

    def show_source(self, info: SourceInfo | None) -> None:
        self.source.setText(source_text(info))
        self.source.setToolTip(self.source.text())
