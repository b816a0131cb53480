"""A plot of two networks' times over the last seconds, with a text description."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.engine.result import LEAST_TIMED, Comparison
from app.ui.speed_test.colors import engine_color, is_dark
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.comparison import network_name
from app.ui.viewport.text_painting import REDRAW_MS, scaled, smooth_painter
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

SHOWN_S = 30.0
_WHOLE_FROM = 100.0  # milliseconds; shorter times get a decimal
_GRID = 3  # lines above 0, at most
_MEANING = mark(
    "Milliseconds for a picture in the last 30 seconds, for each of the two networks alone. Lower "
    "is better"
)


@dataclass(frozen=True, slots=True)
class Point:
    """The times of one frame in milliseconds, and when it came, by the curve's clock."""

    at: float
    baseline_ms: float
    fused_ms: float


class SpeedCurve(QWidget):
    """Plots the times of comparisons; updates at most four times per second.

    `clock` returns seconds.
    """

    def __init__(
        self, parent: QWidget | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._points: deque[Point] = deque()
        self._conditions: object = None
        self._titles = ("", "")
        self.setAccessibleName(tr("Time of a picture"))
        self.setToolTip(tr(_MEANING))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self._refresh)
        self._refresh()

    @property
    def points(self) -> Sequence[Point]:
        """The frames of the last SHOWN_S seconds, under the same conditions."""
        return tuple(self._points)

    def add(self, comparison: Comparison) -> None:
        """Add a frame, unless it is the first under its conditions, which warms up."""
        titles = comparison.baseline_title, comparison.fused_title
        conditions = titles, comparison.size, comparison.precision
        if conditions != self._conditions:
            self._conditions, self._titles = conditions, titles
            self._points.clear()
        if comparison.frames:
            self._points.append(Point(self._clock(), *comparison.frame_ms))
        self._forget_old()

    def clear(self) -> None:
        self._points.clear()
        self._conditions = None
        self._refresh()

    @property
    def description(self) -> str:
        if len(self._points) < LEAST_TIMED:
            return tr("No times yet")
        values = zip(self._titles, self._medians, strict=True)
        (first, slow), (second, fast) = values
        return tr(
            "Median of the last {n} seconds: {first} {slow} ms, {second} {fast} ms",
            n=number(SHOWN_S),
            first=network_name(first),
            slow=_short(slow),
            second=network_name(second),
            fast=_short(fast),
        )

    @property
    def _medians(self) -> tuple[float, float]:
        return (
            median(point.baseline_ms for point in self._points),
            median(point.fused_ms for point in self._points),
        )

    def _forget_old(self) -> None:
        while self._points and self._clock() - self._points[0].at > SHOWN_S:
            self._points.popleft()

    def _refresh(self) -> None:
        self._forget_old()
        self.setAccessibleDescription(self.description)
        self.update()

    def showEvent(self, event: object) -> None:
        self._timer.start()

    def hideEvent(self, event: object) -> None:
        self._timer.stop()

    def sizeHint(self) -> QSize:
        return QSize(420, 170)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, 96)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        palette = self.palette()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.alternateBase())
        painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        painter.setFont(scaled(self.font(), 0.88))
        line = painter.fontMetrics().height()
        top = max((max(p.baseline_ms, p.fused_ms) for p in self._points), default=0.0)
        step = grid_step(top)
        widest = tr("{ms} ms", ms=number(step * _GRID, _decimals(step)))
        margin = painter.fontMetrics().horizontalAdvance(widest) + 2 * SPACE
        plot = QRectF(self.rect()).adjusted(
            margin, line + 2 * SPACE, -2 * SPACE, -line - 1.5 * SPACE
        )
        if not self._points:
            painter.setPen(palette.placeholderText().color())
            text = tr("The times of the next pictures appear here")
            wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            inner = self.rect().adjusted(2 * SPACE, SPACE, -2 * SPACE, -SPACE)
            painter.drawText(inner, wrap, text)
            return
        self._legend(painter, QRectF(SPACE, SPACE, self.width() - 2 * SPACE, line))
        high = step * math.ceil(max(top, step) / step)
        self._grid(painter, plot, step, high)
        for ours in (False, True):
            self._line(painter, plot, high, ours=ours)

    def _legend(self, painter: QPainter, area: QRectF) -> None:
        dark = is_dark(self.palette())
        x, middle = area.left(), area.center().y()
        for ours, (title, ms) in enumerate(zip(self._titles, self._medians, strict=True)):
            painter.setPen(self._pen(ours=bool(ours), dark=dark))
            painter.drawLine(QPointF(x, middle), QPointF(x + 3 * SPACE, middle))
            x += 4 * SPACE
            name = network_name(title)
            settled = len(self._points) >= LEAST_TIMED
            text = tr("{name} {ms} ms", name=name, ms=_short(ms)) if settled else name
            painter.setPen(self.palette().text().color())
            metrics, room = painter.fontMetrics(), int(area.right() - x)
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            width = metrics.horizontalAdvance(text)
            place = QRectF(x, area.top(), width + 2, area.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
            x += width + 2 * SPACE

    def _grid(self, painter: QPainter, plot: QRectF, step: float, high: float) -> None:
        muted, faint = self.palette().placeholderText().color(), self.palette().mid().color()
        height = painter.fontMetrics().height()
        every = max(1, math.ceil(1.2 * height * high / step / max(plot.height(), 1.0)))
        for count in range(0, round(high / step) + 1, every):
            y = plot.bottom() - count * step / high * plot.height()
            painter.setPen(QPen(faint, 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(muted)
            place = QRectF(0, y - height / 2, plot.left() - SPACE, height)
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            text = number(count * step, _decimals(step))
            painter.drawText(place, right, tr("{ms} ms", ms=text) if count else "0")
        below = QRectF(plot.left(), plot.bottom() + 4, plot.width(), height)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, tr("{n} s ago", n=number(SHOWN_S)))
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, tr("now"))

    def _line(self, painter: QPainter, plot: QRectF, high: float, *, ours: bool) -> None:
        now = self._clock()
        pen = self._pen(ours=ours, dark=is_dark(self.palette()))
        points = [
            QPointF(
                plot.right() - (now - point.at) / SHOWN_S * plot.width(),
                plot.bottom()
                - (point.fused_ms if ours else point.baseline_ms) / high * plot.height(),
            )
            for point in self._points
        ]
        painter.save()
        painter.setClipRect(plot.adjusted(0, -4, 4, 4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(points))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pen.color())
        painter.drawEllipse(points[-1], 3.0, 3.0)
        painter.restore()

    @staticmethod
    def _pen(*, ours: bool, dark: bool) -> QPen:
        """Return a pen whose dashes tell the networks apart without their colors."""
        dash = Qt.PenStyle.SolidLine if ours else Qt.PenStyle.DashLine
        pen = QPen(engine_color(ours=ours, dark=dark), 2.0, dash)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        return pen


def grid_step(top: float) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about _GRID lines reach `top`."""
    if top <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(top / _GRID))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * _GRID >= top)


def _short(ms: float) -> str:
    return number(ms, 0 if ms >= _WHOLE_FROM else 1)


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step)))
