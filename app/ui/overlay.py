"""Figures on the picture: rates, latency, timings and what limits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap, QShowEvent
from PySide6.QtWidgets import QWidget

from app.meter import Reading
from app.styled import Styled
from app.ui.lettering import FAINT, INK, SHADE, scaled
from app.ui.tokens import RADIUS, SPACE

REDRAW_MS = 250  # text that changes faster cannot be read


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the overlay; `text` gives "" where it has nothing to say. A `brief` one is also
    shown over a comparison, which brings its own timings and needs the room."""

    label: str
    text: Callable[[Reading, Styled], str]
    brief: bool = False


def _fps(value: float) -> str:
    return f"{value:.1f} fps" if value else ""


def _ms(value: float) -> str:
    return f"{value:.1f} ms"


def _latency(reading: Reading, _: Styled) -> str:
    if not reading.latency_ms:
        return ""
    return f"{reading.latency_ms:.0f} ms, p95 {reading.latency_p95_ms:.0f} ms"


def _network_size(_: Reading, styled: Styled) -> str:
    return f"{styled.size[0]} x {styled.size[1]}"


ROWS: tuple[Row, ...] = (
    Row("Captured", lambda r, _: _fps(r.capture_fps), brief=True),
    Row("Processed", lambda r, _: _fps(r.processed_fps), brief=True),
    Row("Displayed", lambda r, _: _fps(r.displayed_fps), brief=True),
    Row("Capture to paint", _latency, brief=True),
    Row("Dropped", lambda r, _: f"{r.dropped}", brief=True),
    Row("Network input", _network_size, brief=True),
    Row("Read", lambda r, _: _ms(r.timings.read)),
    Row("Upload", lambda r, _: _ms(r.timings.upload)),
    Row("Network", lambda r, _: _ms(r.timings.network)),
    Row("Download", lambda r, _: _ms(r.timings.download)),
    Row("Paint", lambda r, _: _ms(r.paint_ms)),
)


def lines(reading: Reading, styled: Styled) -> list[tuple[str, str]]:
    """(label, text) for every row that has something to say, the network's groups indented."""
    brief = styled.comparison is not None
    made: list[tuple[str, str]] = []
    for row in ROWS:
        if brief and not row.brief:
            continue
        if text := row.text(reading, styled):
            made.append((row.label, text))
        if row.label == "Network":
            groups = reading.timings.groups
            made += [(f"    {name.capitalize()}", _ms(value)) for name, value in groups]
    return made


class Overlay(QWidget):
    """Lies on the viewport and lets the mouse through. Reads `reading()` and `styled()` every
    REDRAW_MS while visible and paints from a pixmap in between."""

    def __init__(
        self,
        reading: Callable[[], Reading],
        styled: Callable[[], Styled | None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._reading, self._styled = reading, styled
        self._pixmap = QPixmap()
        self._inner = 0  # width between the margins
        self.redraws = 0  # how often the text was drawn
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Figures")
        self._tick = QTimer(self, interval=REDRAW_MS)
        self._tick.timeout.connect(self.refresh)
        self._tick.start()

    def showEvent(self, event: QShowEvent) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Draw the newest figures; nothing while hidden."""
        if not self.isVisible():
            return
        reading, styled = self._reading(), self._styled()
        rows = lines(reading, styled) if styled else []
        self._pixmap = self._render(rows, reading.verdict)
        self.redraws += 1
        said = ", ".join(f"{label.strip()} {text}" for label, text in rows)
        self.setAccessibleDescription(f"{said}. {reading.verdict}")
        self.setGeometry(QRect(self.pos(), self._pixmap.deviceIndependentSize().toSize()))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._pixmap.isNull():
            QPainter(self).drawPixmap(0, 0, self._pixmap)

    def _render(self, rows: list[tuple[str, str]], verdict: str) -> QPixmap:
        if not rows:
            return QPixmap()
        font = scaled(self.font(), 0.95)
        bold = scaled(self.font(), 0.95, bold=True)
        metrics = self.fontMetrics()
        line = metrics.height() + 2
        labels = max(metrics.horizontalAdvance(label) for label, _ in rows)
        texts = max(metrics.horizontalAdvance(text) for _, text in rows)
        title = verdict[:1].upper() + verdict[1:]
        inner = max(labels + 3 * SPACE + texts, round(metrics.horizontalAdvance(title) * 1.1))
        # Only ever grows, so that a panel whose digits change does not twitch.
        self._inner = inner = max(inner, self._inner)
        count = len(rows) + bool(title)
        size = QSize(inner + 3 * SPACE, count * line + 2 * SPACE + (SPACE if title else 0))
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(size * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(SHADE)
        painter.drawRoundedRect(QRect(QPoint(0, 0), size), RADIUS, RADIUS)
        place = QRect(3 * SPACE // 2, SPACE, inner, line)
        if title:
            painter.setFont(bold)
            painter.setPen(INK)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, title)
            place.translate(0, line + SPACE)
        painter.setFont(font)
        for label, text in rows:
            painter.setPen(FAINT)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, label)
            painter.setPen(INK)
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(place, right, text)
            place.translate(0, line)
        painter.end()
        return pixmap
