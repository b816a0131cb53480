"""A speed test's result as a picture to share: a model of its texts and bars, and its painting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPainterPath

from app.speed_test.result import Row, SpeedResult
from app.speed_test.text import conditions, milliseconds, rate, ratio
from app.ui.speed_test.colors import engine_color
from app.ui.theme.tokens import Tokens
from app.ui.viewport.text_painting import smooth_painter
from utils.translation.joints import enumerated
from utils.translation.numbers import number
from utils.translation.texts import tr, trn

WIDTH, HEIGHT = 1200, 630  # pixels, as services show shared links
PICTURE = 520  # pixels of the width
MOST_BARS = 7
_MARGIN = 44
_BARS_TOP, _BARS_BOTTOM = 232, 516
_PITCH = 56  # pixels from a bar to the next, at most
_BAR = 8  # pixels high
_EDGES = (184, 82, 0)  # pixels from the right margin to the right edges of the figures
_FIGURES = 292  # pixels that they take


@dataclass(frozen=True, slots=True)
class Bar:
    """A measured engine: its time, its rate, and its ratio, which may be "".

    `share` is the length of its bar, 0 to 1, by its time.
    """

    title: str
    figures: tuple[str, str, str]
    share: float
    ours: bool


@dataclass(frozen=True, slots=True)
class Card:
    """The texts and bars of a card.

    Attributes:
        headline: How fast StyleForge is; below it stands `claim`.
        left_out: How many measured engines have no bar, a phrase; "" if each has one.
        foot: The machine and the versions, a line each.
    """

    headline: str
    claim: str
    conditions: str
    bars: tuple[Bar, ...]
    left_out: str
    foot: tuple[str, ...]


def card_of(result: SpeedResult) -> Card:
    """Return the card of a result; the fastest engines have the first bars."""
    rows = result.measured
    shown = _most_telling(rows)
    slowest = max((row.latency.median for row in shown if row.latency), default=1.0)
    bars = tuple(
        Bar(row.title, _figures(row), row.latency.median / slowest, row.ours)
        for row in shown
        if row.latency is not None
    )
    more = len(rows) - len(bars)
    left_out = trn("and {n} slower engine", "and {n} slower engines", more) if more else ""
    machine = result.machine
    foot = (
        enumerated((machine.processor, *machine.gpus)),
        machine.system,
        enumerated(machine.versions),
    )
    return Card(*_headline(rows), conditions(result), bars, left_out, foot)


def _most_telling(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the fastest rows, with the row that the fastest of ours is compared with."""
    if len(rows) <= MOST_BARS:
        return rows
    best = next((row for row in rows if row.ours), None)
    needed = [row for row in rows[MOST_BARS:] if best is not None and row.title == best.beside]
    return (*rows[: MOST_BARS - len(needed)], *needed)


def _headline(rows: Sequence[Row]) -> tuple[str, str]:
    best = next((row for row in rows if row.ours), None)
    if best is None or best.latency is None:
        return tr("Speed test"), ""
    painted = tr("{title}: {fps} pictures a second", title=best.title, fps=rate(best))
    if best.ratio is None:
        return tr("{fps} pictures a second", fps=rate(best)), best.title
    times = tr("{ratio} times as fast", ratio=number(best.ratio, 2))
    return times, tr("as {other}. {painted}", other=best.beside, painted=painted)


def _figures(row: Row) -> tuple[str, str, str]:
    compared = ratio(row) or (tr("differs") if row.differs else "")
    ms, fps = tr("{ms} ms", ms=milliseconds(row)), tr("{fps} fps", fps=rate(row))
    return ms, fps, compared


def paint_card(card: Card, picture: QImage, logo: QImage, tokens: Tokens, font: QFont) -> QImage:
    """Paint a card of WIDTH x HEIGHT pixels; any thread may call this.

    Args:
        picture: The painting; its middle fills the left part.
        logo: The program's icon, square.
        font: The application's font.
    """
    made = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    made.fill(QColor(tokens.window))
    painter = smooth_painter(made)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    _Painting(painter, tokens, font).paint(card, picture, logo)
    painter.end()
    return made


class _Painting:
    """The painting of one card."""

    def __init__(self, painter: QPainter, tokens: Tokens, font: QFont) -> None:
        self._painter, self._tokens, self._font = painter, tokens, font
        self._left, self._right = PICTURE + _MARGIN, WIDTH - _MARGIN

    def paint(self, card: Card, picture: QImage, logo: QImage) -> None:
        t = self._tokens
        self._cover(picture)
        self._painter.drawImage(QRectF(self._left, 36, 36, 36), logo)
        self._text("StyleForge", 72, 22, t.text, left=self._left + 48, bold=True, middle=54)
        self._text(tr("speed test"), 72, 17, t.muted, right=self._right, middle=54)
        self._text(card.headline, 128, 42, t.text, bold=True)
        self._text(card.claim, 164, 18, t.text)
        self._text(card.conditions, 194, 16, t.muted)
        self._bars(card)
        for line, text in enumerate(card.foot):
            self._text(text, 552 + 22 * line, 14, t.muted)

    def _cover(self, picture: QImage) -> None:
        """Fill the left part with the middle of the picture."""
        scale = max(PICTURE / picture.width(), HEIGHT / picture.height())
        width, height = PICTURE / scale, HEIGHT / scale
        part = QRectF((picture.width() - width) / 2, (picture.height() - height) / 2, width, height)
        self._painter.drawImage(QRectF(0, 0, PICTURE, HEIGHT), picture, part)

    def _bars(self, card: Card) -> None:
        if not card.bars:
            return
        lines = len(card.bars) + bool(card.left_out)
        pitch = min(_PITCH, (_BARS_BOTTOM - _BARS_TOP) / lines)
        dark = self._tokens.name == "dark"
        size = 16 if pitch > 40 else 14
        for place, bar in enumerate(card.bars):
            top = _BARS_TOP + place * pitch
            strong = self._tokens.text if bar.ours else self._tokens.muted
            for text, edge in zip(bar.figures, _EDGES, strict=True):
                at = self._right - edge
                self._text(text, top + size, size, strong, right=at, bold=bar.ours)
            room = self._right - self._left - _FIGURES
            self._text(bar.title, top + size, size, strong, bold=bar.ours, room=room)
            whole = QRectF(self._left, top + size + 8, self._right - self._left, _BAR)
            self._bar(whole, QColor(self._tokens.line))
            whole.setWidth(max(_BAR, bar.share * whole.width()))
            self._bar(whole, engine_color(ours=bar.ours, dark=dark))
        if card.left_out:
            top = _BARS_TOP + len(card.bars) * pitch
            self._text(card.left_out, top + size, 14, self._tokens.muted)

    def _bar(self, area: QRectF, color: QColor) -> None:
        path = QPainterPath()
        path.addRoundedRect(area, _BAR / 2, _BAR / 2)
        self._painter.fillPath(path, color)

    def _text(
        self,
        text: str,
        baseline: float,
        pixels: int,
        color: str,
        *,
        left: float | None = None,
        right: float | None = None,
        bold: bool = False,
        middle: float | None = None,
        room: float | None = None,
    ) -> float:
        """Draw a line of text, elided to its room, and return its width.

        `right` is its right edge, in place of `left`. `middle` centers it around a height, in place
        of `baseline`.
        """
        font = QFont(self._font)
        font.setPixelSize(pixels)
        font.setBold(bold)
        font.setFeature(QFont.Tag("tnum"), 1)
        self._painter.setFont(font)
        metrics = self._painter.fontMetrics()
        start = self._left if left is None else left
        widest = self._right - start if room is None else room
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(widest))
        width = metrics.horizontalAdvance(text)
        if middle is not None:
            baseline = middle + (metrics.ascent() - metrics.descent()) / 2
        self._painter.setPen(QColor(color))
        self._painter.drawText(QPointF(start if right is None else right - width, baseline), text)
        return width
