"""Figures on the picture: rates, latency, timings and what limits them."""

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
_BOLD = 1.1  # how much wider bold letters are


@dataclass(frozen=True, slots=True)
class TextRun:
    """Something to write, and where; flush right in its place or left."""

    place: QRect
    text: str
    ink: QColor
    bold: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the overlay; `text` gives "" where it has nothing to say. A `brief` one is also
    shown where room is scarce."""

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
    # Capture to paint, and its parts in their order, which add up to it.
    Row("Capture to paint", _latency, brief=True),
    Row("Wait", lambda r, _: _ms(r.timings.wait)),
    Row("Resize", lambda r, _: _ms(r.timings.resize)),
    Row("Upload", lambda r, _: _ms(r.timings.upload)),
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


def lines(
    reading: StreamStats, styled: StyledFrame, *, brief: bool = False
) -> list[tuple[str, str]]:
    """(label, text) for every row that has something to say, the network's groups indented. A
    picture that stands still goes on showing what it took."""
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
    """Lies on the viewport and lets the mouse through. Reads `reading()` and `styled()` every
    REDRAW_MS while visible and paints from a pixmap in between.

    A table, brief where it would not fit; over a comparison, which brings its own timings, a
    strip along the top that `keep_free(height)` makes room for (0: none is wanted).
    """

    def __init__(
        self,
        reading: Callable[[], StreamStats],
        styled: Callable[[], StyledFrame | None],
        keep_free: Callable[[int], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._reading, self._styled, self._keep_free = reading, styled, keep_free
        self._viewport = parent
        self._pixmap = QPixmap()
        self._covered = 0
        # Only ever grows, so that figures whose digits change do not twitch.
        self._widest: dict[str, int] = {}
        self.redraws = 0  # how often the text was drawn
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Figures")
        self._tick = QTimer(self, interval=REDRAW_MS)
        self._tick.timeout.connect(self.refresh)
        self._tick.start()

    def showEvent(self, event: QShowEvent) -> None:
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        self._keep_free(0)

    def make_way(self, covered: int) -> None:
        """So many pixels of the top lie under messages; the table goes below them. The strip over
        a comparison stays, or the pictures would move."""
        self._covered = covered
        self.refresh()

    def refresh(self) -> None:
        """Draw the newest figures; nothing while hidden."""
        if not self.isVisible():
            return
        reading, styled = self._reading(), self._styled()
        title = reading.bottleneck[:1].upper() + reading.bottleneck[1:]
        compared = styled is not None and styled.comparison is not None
        self.move(2 * SPACE, 2 * SPACE + (0 if compared else self._covered))
        rows = lines(reading, styled, brief=compared) if styled else []
        size, words = (self._strip if compared else self._table)(title, rows)
        if styled and not compared and size.height() > self._viewport.height() - 2 * self.y():
            rows = lines(reading, styled, brief=True)
            size, words = self._table(title, rows)
        self._pixmap = self._render(size, words) if rows else QPixmap()
        self.redraws += 1
        said = ", ".join(f"{label.strip()} {text}" for label, text in rows)
        self.setAccessibleDescription(f"{said}. {reading.bottleneck}")
        self.setGeometry(QRect(self.pos(), self._pixmap.deviceIndependentSize().toSize()))
        self._keep_free(self.geometry().bottom() if compared else 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._pixmap.isNull():
            QPainter(self).drawPixmap(0, 0, self._pixmap)

    def _width(self, text: str, of: str = "") -> int:
        """Of `text`, and at least what a text of the name `of` needed before."""
        width = self.fontMetrics().horizontalAdvance(text)
        if of:
            width = self._widest[of] = max(width, self._widest.get(of, 0))
        return width

    def _table(self, title: str, rows: list[tuple[str, str]]) -> tuple[QSize, list[TextRun]]:
        """Its size and its words: row below row, labels left, texts right."""
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
        """The same side by side, on as many lines as the viewport's width demands."""
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
