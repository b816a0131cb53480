"""The badge in the corner of the picture: frames a second; a click opens the figures."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QPushButton, QWidget

from app.engine.result import StyledFrame
from app.live.stream_metrics import StreamStats
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import INK, REDRAW_MS, SHADE
from utils.translation.numbers import number
from utils.translation.texts import tr

_WHOLE_FROM = 3.0  # frames a second; lower rates get a decimal
_RATE_FROM = 0.1  # frames a second; lower rates are shown as seconds per picture


_FEWER = 0.8  # paintings per shown frame, below which the badge shows both rates


def badge_text(painted: float, shown: float) -> str:
    """Return "15 fps", or "paints 8, shows 30" if paintings move with the scene meanwhile."""
    if 0 < painted < _FEWER * shown:
        return tr("paints {painted}, shows {shown}", painted=_rate(painted), shown=_rate(shown))
    return fps_text(shown)


def fps_text(fps: float) -> str:
    """Return "15 fps"; "1.5 fps" for a slow stream; "25 s a picture" for a very slow one."""
    if 0 < fps < _RATE_FROM:
        return tr("{fps} s a picture", fps=number(1 / fps))
    return tr("{fps} fps", fps=_rate(fps))


def _rate(fps: float) -> str:
    return number(fps, 0 if fps >= _WHOLE_FROM else 1)


class SpeedBadge(QPushButton):
    """Shown in the upper left corner of the picture during a stream; comparisons hide the badge."""

    def __init__(
        self,
        reading: Callable[[], StreamStats],
        styled: Callable[[], StyledFrame | None],
        of_pictures: Callable[[], bool],
        figures: QAction,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._reading, self._styled, self._of_pictures = reading, styled, of_pictures
        self._wanted = False
        self._pixmap = QPixmap()
        self._painted: object = None  # state of the cached pixmap
        self.setAccessibleName(tr("Frames a second"))
        self.setToolTip(tr("Frame rate of the picture; click to show all figures"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(figures.trigger)
        self.move(2 * SPACE, 2 * SPACE)
        self.hide()
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()

    def set_wanted(self, wanted: bool) -> None:
        """Show the badge whenever a stream runs, or never."""
        self._wanted = wanted
        self.refresh()

    def refresh(self) -> None:
        styled = self._styled()
        reading = self._reading()
        wanted = self._wanted and styled is not None and not self._of_pictures()
        fps = reading.displayed_fps if wanted else 0.0
        shown = bool(fps) and styled is not None and styled.comparison is None
        if shown and (text := badge_text(reading.painted_fps, fps)) != self.text():
            self.setText(text)
            self.setAccessibleDescription(tr("{text}. Shows all figures", text=text))
            self.resize(self.sizeHint())
        self.setVisible(shown)

    def sizeHint(self) -> QSize:
        digits = "".join("0" if letter.isdigit() else letter for letter in self.text())
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(digits) + 3 * SPACE, metrics.height() + 2 * SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text on a dark rounded rectangle, cached, as each frame repaints overlays."""
        ringed = self.hasFocus() or self.underMouse()
        ring = self.palette().highlight().color() if ringed else None
        state = self.text(), self.size(), self.devicePixelRatioF(), self.font(), ring
        if state != self._painted:
            self._pixmap, self._painted = self._render(ring), state
        QPainter(self).drawPixmap(0, 0, self._pixmap)

    def _render(self, ring: QColor | None) -> QPixmap:
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setFont(self.font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen if ring is None else QPen(ring, 2))
        painter.setBrush(SHADE)
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.setPen(INK)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()
        return pixmap
