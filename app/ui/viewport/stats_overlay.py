"""The figures over the picture: rates, latency, timings and the bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QPixmap, QShowEvent
from PySide6.QtWidgets import QWidget

from app.engine.result import StyledFrame
from app.live.stream_metrics import StreamStats
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import FAINT, INK, REDRAW_MS, SHADE, scaled

_MARGIN = 3 * SPACE // 2
_BOLD = 1.1  # width of bold text relative to regular


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of text with its rectangle, color and alignment."""

    place: QRect
    text: str
    ink: QColor
    bold: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the overlay; it is left out if `text` returns "".

    A `brief` row is also shown where space is scarce.
    """

    label: str
    text: Callable[[StreamStats, StyledFrame], str]
    brief: bool = False


def _fps(value: float) -> str:
    return f"{value:.1f} fps" if value else ""


def _ms(value: float) -> str:
    return f"{value:.1f} ms" if value >= 0.05 else ""


def _dropped(reading: StreamStats, _: StyledFrame) -> str:
    return f"{reading.dropped}" if reading.capture_fps or reading.dropped else ""


def _latency(reading: StreamStats, _: StyledFrame) -> str:
    if not reading.latency_ms:
        return ""
    return f"{reading.latency_ms:.0f} ms, p95 {reading.latency_p95_ms:.0f} ms"


def _network_size(_: StreamStats, styled: StyledFrame) -> str:
    return f"{styled.size[0]} x {styled.size[1]}"


ROWS: tuple[Row, ...] = (
    Row("Captured", lambda r, _: _fps(r.capture_fps), brief=True),
    Row("Processed", lambda r, _: _fps(r.processed_fps), brief=True),
    Row("Displayed", lambda r, _: _fps(r.displayed_fps), brief=True),
    Row("Dropped", _dropped, brief=True),
    Row("Network input", _network_size, brief=True),
    Row("Read", lambda r, _: _ms(r.timings.read)),
    # Capture to paint, followed by its parts, which add up to it.
    Row("Capture to paint", _latency, brief=True),
    Row("Wait", lambda r, _: _ms(r.timings.wait)),
    Row("Resize", lambda r, _: _ms(r.timings.resize)),
    Row("Upload", lambda r, _: _ms(r.timings.upload)),
    Row("Queue", lambda r, _: _ms(r.timings.queue)),
    Row("Network", lambda r, _: _ms(r.timings.network)),
    Row("Download", lambda r, _: _ms(r.timings.download)),
    Row("Blend", lambda r, _: _ms(r.timings.blend)),
    Row("Compare", lambda r, _: _ms(r.timings.comparison)),
    Row("Copy", lambda r, _: _ms(r.timings.copy)),
    Row("Other", lambda r, _: _ms(r.timings.other)),
    Row("Deliver", lambda r, _: _ms(r.deliver_ms)),
    Row("Paint", lambda r, _: _ms(r.paint_ms)),
    Row("Flicker", lambda r, _: str(r.flicker or "")),
)


def overlay_rows(
    reading: StreamStats, styled: StyledFrame, *, brief: bool = False
) -> list[tuple[str, str]]:
    """Return (label, text) of every row that has a value, with the network's groups indented.

    A still picture keeps showing its own timings.
    """
    if not reading.timings.total:
        reading = replace(reading, timings=styled.timings)
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
    """Shows figures over the viewport; transparent for the mouse.

    It reads `reading()` and `styled()` every REDRAW_MS while visible, and paints a cached pixmap in
    between. It is a table, with fewer rows where it would not fit. Over a comparison, it is a strip
    at the top, and `keep_free(height)` reserves space for it (0: none).
    """

    def __init__(
        self,
        reading: Callable[[], StreamStats],
        styled: Callable[[], StyledFrame | None],
        set_headroom: Callable[[int], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._reading, self._styled, self._keep_free = reading, styled, set_headroom
        self._viewport = parent
        self._pixmap = QPixmap()
        self._covered = 0
        # Widths only grow, so that changing digits do not move the columns.
        self._max_widths: dict[str, int] = {}
        self.redraws = 0  # number of times the text was drawn
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Figures")
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Show the newest figures at once."""
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Release the reserved space."""
        self._keep_free(0)

    def set_covered_height(self, covered: int) -> None:
        """Move below messages that cover the top of the viewport.

        Args:
            covered: their height in pixels.
        """
        self._covered = covered
        self.refresh()

    def refresh(self) -> None:
        """Draw the newest figures, unless hidden."""
        if not self.isVisible():
            return
        reading, styled = self._reading(), self._styled()
        title = reading.bottleneck[:1].upper() + reading.bottleneck[1:]
        compared = styled is not None and styled.comparison is not None
        self.move(2 * SPACE, 2 * SPACE + (0 if compared else self._covered))
        rows = overlay_rows(reading, styled, brief=compared) if styled else []
        size, words = (self._strip if compared else self._table)(title, rows)
        if styled and not compared and size.height() > self._viewport.height() - 2 * self.y():
            rows = overlay_rows(reading, styled, brief=True)
            size, words = self._table(title, rows)
        self._pixmap = self._render(size, words) if rows else QPixmap()
        self.redraws += 1
        said = ", ".join(f"{label.strip()} {text}" for label, text in rows)
        self.setAccessibleDescription(f"{said}. {reading.bottleneck}")
        self.setGeometry(QRect(self.pos(), self._pixmap.deviceIndependentSize().toSize()))
        self._keep_free(self.geometry().bottom() if compared else 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the cached pixmap."""
        if not self._pixmap.isNull():
            QPainter(self).drawPixmap(0, 0, self._pixmap)

    def _width(self, text: str, of: str = "") -> int:
        """Return the width of `text`; with `of`, at least the largest so far under that name."""
        width = self.fontMetrics().horizontalAdvance(text)
        if of:
            width = self._max_widths[of] = max(width, self._max_widths.get(of, 0))
        return width

    def _table(self, title: str, rows: list[tuple[str, str]]) -> tuple[QSize, list[TextRun]]:
        """Lay the rows out as a table; returns its size and texts."""
        labels = max((self._width(label) for label, _ in rows), default=0)
        texts = max((self._width(text, of=label) for label, text in rows), default=0)
        inner = max(labels + 3 * SPACE + texts, round(_BOLD * self._width(title, of="title")))
        place = QRect(_MARGIN, SPACE, inner, self._line())
        words: list[TextRun] = []
        if title:
            words.append(TextRun(QRect(place), title, INK, bold=True))
            place.translate(0, place.height() + SPACE)
        for label, text in rows:
            words += [
                TextRun(QRect(place), label, FAINT),
                TextRun(QRect(place), text, INK, right=True),
            ]
            place.translate(0, place.height())
        return QSize(inner + 2 * _MARGIN, place.top() + SPACE), words

    def _strip(self, title: str, rows: list[tuple[str, str]]) -> tuple[QSize, list[TextRun]]:
        """Lay the rows out side by side, on as many lines as needed; returns size and texts."""
        limit = self._viewport.width() - 2 * self.x() - _MARGIN
        place = QRect(_MARGIN, SPACE // 2, 0, self._line())
        words: list[TextRun] = []
        if title:
            place.setWidth(round(_BOLD * self._width(title, of="title")))
            words.append(TextRun(QRect(place), title, INK, bold=True))
            place.moveLeft(place.right() + 2 * SPACE)
        for label, text in rows:
            first, second = self._width(label) + SPACE, self._width(text, of=label)
            if place.left() + first + second > limit and words:
                place.moveTo(_MARGIN, place.bottom() + 1)
            for width, word, ink in ((first, label, FAINT), (second, text, INK)):
                place.setWidth(width)
                words.append(TextRun(QRect(place), word, ink))
                place.moveLeft(place.right() + 1)
            place.translate(2 * SPACE, 0)
        right = max((word.place.right() for word in words), default=0)
        return QSize(right + _MARGIN, place.bottom() + SPACE // 2), words

    def _line(self) -> int:
        return self.fontMetrics().height() + 2

    def _render(self, size: QSize, words: list[TextRun]) -> QPixmap:
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(size * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(SHADE)
        painter.drawRoundedRect(QRect(QPoint(0, 0), size), RADIUS, RADIUS)
        fonts = {bold: scaled(self.font(), 0.95, bold=bold) for bold in (False, True)}
        for word in words:
            painter.setFont(fonts[word.bold])
            painter.setPen(word.ink)
            side = Qt.AlignmentFlag.AlignRight if word.right else Qt.AlignmentFlag.AlignLeft
            painter.drawText(word.place, side | Qt.AlignmentFlag.AlignVCenter, word.text)
        painter.end()
        return pixmap
