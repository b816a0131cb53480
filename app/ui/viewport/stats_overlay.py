"""The figures over the picture: rates, latency, timings and the bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QPixmap, QShowEvent
from PySide6.QtWidgets import QWidget

from app.engine.result import StyledFrame
from app.live.stream_metrics import StreamStats
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.stats_rows import bottleneck_words, overlay_columns
from app.ui.viewport.text_painting import FAINT, INK, REDRAW_MS, SHADE, scaled, smooth_painter
from utils.translation.texts import tr

_MARGIN = 3 * SPACE // 2
_BETWEEN = 4 * SPACE  # between two columns
_BOLD = 1.1  # width of bold text relative to regular


Rows = list[tuple[str, str]]  # label and text


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of text with its rectangle, color and alignment."""

    place: QRect
    text: str
    ink: QColor
    bold: bool = False
    right: bool = False


class Overlay(QWidget):
    """Shows figures over the viewport; transparent to the mouse.

    While visible, it reads `reading()` and `styled()` every REDRAW_MS and paints a cached pixmap
    in between. The figures form a table, with fewer rows if space is scarce, and the layers of the
    network (`show_layers`) next to it. During a comparison they form a strip at the top, and
    `set_headroom(height)` reserves space for it (0: none).
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
        self._layers = False
        # Widths only grow, so that changing digits do not move the columns.
        self._max_widths: dict[str, int] = {}
        self.redraws = 0  # how often the text was drawn
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(tr("Figures"))
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        self._keep_free(0)

    def show_layers(self, on: bool) -> None:
        """Show the time of every layer, or hide it, which is the default."""
        self._layers = on
        self.refresh()

    def refresh(self) -> None:
        if not self.isVisible():
            return
        reading, styled = self._reading(), self._styled()
        title = bottleneck_words(reading.bottleneck)
        compared = styled is not None and styled.comparison is not None
        self.move(2 * SPACE, 2 * SPACE)
        rows: Rows = []
        if styled is not None and compared:
            (rows,) = overlay_columns(reading, styled, brief=True, layers=self._layers)
            self._pixmap = self._render(*self._strip(title, rows))
        elif styled is not None:
            columns, size, words = self._fitting_table(title, reading, styled)
            rows = [row for column in columns for row in column]
            self._pixmap = self._render(size, words)
        else:
            self._pixmap = QPixmap()
        self.redraws += 1
        said = ", ".join(f"{label.strip()} {text}" for label, text in rows)
        self.setAccessibleDescription(f"{said}. {title}")
        self.setGeometry(QRect(self.pos(), self._pixmap.deviceIndependentSize().toSize()))
        self._keep_free(self.geometry().bottom() if compared else 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._pixmap.isNull():
            QPainter(self).drawPixmap(0, 0, self._pixmap)

    def _width(self, text: str, of: str = "") -> int:
        """Return the width of `text`; given `of`, at least the largest so far under that name."""
        width = self.fontMetrics().horizontalAdvance(text)
        if of:
            width = self._max_widths[of] = max(width, self._max_widths.get(of, 0))
        return width

    def _fitting_table(
        self, title: str, reading: StreamStats, styled: StyledFrame
    ) -> tuple[list[Rows], QSize, list[TextRun]]:
        """Lay out as much as fits into the viewport; return columns, size and texts."""
        room = self._viewport.size() - QSize(self.x(), self.y()) * 2
        lines = max(1, (room.height() - self._top(title) - SPACE) // self._line())
        for brief in (False, True):
            first, *layers = overlay_columns(reading, styled, brief=brief, layers=self._layers)
            columns = [first, *(part for column in layers for part in _split(column, lines))]
            size, words = self._table(title, columns)
            wide = layers and size.width() > room.width()
            if size.height() <= room.height() and not wide:
                return columns, size, words
        if layers:
            columns = [[*first, (tr("Layers", "figures"), tr("shown in a larger window"))]]
            size, words = self._table(title, columns)
        return columns, size, words

    def _table(self, title: str, columns: list[Rows]) -> tuple[QSize, list[TextRun]]:
        """Lay out columns of rows as a table; return its size and texts."""
        words: list[TextRun] = []
        widest = round(_BOLD * self._width(title, of="title"))
        if title:
            words.append(
                TextRun(QRect(_MARGIN, SPACE, widest, self._line()), title, INK, bold=True)
            )
        left, bottom = _MARGIN, 0
        for rows in columns:
            labels = max((self._width(label) for label, _ in rows), default=0)
            texts = max((self._width(text, of=label) for label, text in rows), default=0)
            inner = labels + 3 * SPACE + texts
            if rows is columns[-1]:
                inner = max(inner, _MARGIN + widest - left)
            place = QRect(left, self._top(title), inner, self._line())
            for label, text in rows:
                words += [
                    TextRun(QRect(place), label, FAINT),
                    TextRun(QRect(place), text, INK, right=True),
                ]
                place.translate(0, place.height())
            left, bottom = left + inner + _BETWEEN, max(bottom, place.top())
        return QSize(left - _BETWEEN + _MARGIN, bottom + SPACE), words

    def _top(self, title: str) -> int:
        return SPACE + (self._line() + SPACE if title else 0)

    def _strip(self, title: str, rows: Rows) -> tuple[QSize, list[TextRun]]:
        """Lay out the rows side by side, on as many lines as needed; return size and texts."""
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
        painter = smooth_painter(pixmap)
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


def _split(rows: Rows, lines: int) -> list[Rows]:
    """Split rows into as few even columns of at most `lines` rows as possible."""
    count = -(-len(rows) // lines)
    each = -(-len(rows) // count)
    return [rows[start : start + each] for start in range(0, len(rows), each)]
