"""A plot of the losses on a logarithmic scale, with a text description."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.training.run_store import LossPoint
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import REDRAW_MS, scaled, smooth_painter
from utils.translation.numbers import number, significant
from utils.translation.texts import mark, tr

SMOOTH = 0.02  # fraction of the plotted width to average over
_BATCH_NOISE = mark(
    "Each value comes from one batch, so the thin line is noisy; the thick line is its average"
)


@dataclass(frozen=True, slots=True)
class Curve:
    """A loss: field of LossPoint, title, colors (contrast at least 3:1) and dash pattern."""

    field: str
    title: str
    on_dark: str
    on_light: str
    dash: Qt.PenStyle


CURVES = (
    Curve("total", mark("Both", "loss"), "#eceef1", "#1a1d22", Qt.PenStyle.SolidLine),
    Curve("content", mark("Photograph", "loss"), "#6db5f2", "#1c66a8", Qt.PenStyle.DashLine),
    Curve("style", mark("Painting", "loss"), "#f59b4c", "#b4500f", Qt.PenStyle.DotLine),
)


_MEANING = mark(
    "The losses: how far results are from the photograph's content, the painting's style, and "
    "both together. Lower is better. They fall fast at first, then slowly."
)


class LossPlot(QWidget):
    """Plots the losses; updates at most four times per second."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points: Sequence[LossPoint] = ()
        self._iterations = 0
        self._drawn = 0
        self.setAccessibleName(tr("Losses"))
        self.setToolTip(f"{tr(_MEANING)} {tr(_BATCH_NOISE)}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self._refresh)
        self._update_description()

    def set_points(self, points: Sequence[LossPoint], iterations: int) -> None:
        """Plot `points`, a growing list, of a run with `iterations` iterations."""
        self._points, self._iterations, self._drawn = points, iterations, -1
        self._refresh()

    @property
    def description(self) -> str:
        if not self._points:
            return tr("No losses yet")
        first, last = self._points[0], self._points[-1]
        total = _recent_mean(self._points, "total")
        values = {
            "total": significant(total, 3),
            "first": significant(first.total, 3),
            "content": significant(_recent_mean(self._points, "content"), 3),
            "style": significant(_recent_mean(self._points, "style"), 3),
            "step": number(last.iteration),
            "steps": number(max(self._iterations, last.iteration)),
        }
        if total < first.total:
            return tr(
                "Total loss {total}, falling from {first}; content {content}, style {style}; "
                "step {step} of {steps}",
                **values,
            )
        return tr(
            "Total loss {total}, not falling yet from {first}; content {content}, style {style}; "
            "step {step} of {steps}",
            **values,
        )

    def _refresh(self) -> None:
        if len(self._points) != self._drawn:
            self._drawn = len(self._points)
            self._update_description()
            self.update()

    def _update_description(self) -> None:
        self.setAccessibleDescription(self.description)

    def showEvent(self, event: object) -> None:
        self._timer.start()

    def hideEvent(self, event: object) -> None:
        self._timer.stop()

    def sizeHint(self) -> QSize:
        return QSize(420, 190)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 120)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        palette = self.palette()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.alternateBase())
        painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        small = scaled(self.font(), 0.88)
        painter.setFont(small)
        line = painter.fontMetrics().height()
        margin = painter.fontMetrics().horizontalAdvance("0.001 ") + SPACE
        plot = QRectF(self.rect()).adjusted(
            margin, line + 2 * SPACE, -2 * SPACE, -line - 1.5 * SPACE
        )
        self._legend(painter, QRectF(plot.left(), SPACE, plot.width(), line))
        if not self._points:
            painter.setPen(palette.placeholderText().color())
            painter.drawText(
                plot, Qt.AlignmentFlag.AlignCenter, tr("The losses of the training appear here")
            )
            return
        low, high = self._range()
        self._grid(painter, plot, low, high)
        for curve in reversed(CURVES):
            self._curve(painter, plot, curve, low, high)

    def _color(self, curve: Curve) -> QColor:
        dark = self.palette().alternateBase().color().lightness() < 128
        return QColor(curve.on_dark if dark else curve.on_light)

    def _legend(self, painter: QPainter, area: QRectF) -> None:
        x, middle = area.left(), area.center().y()
        for curve in CURVES:
            painter.setPen(QPen(self._color(curve), 2.0, curve.dash))
            painter.drawLine(QPointF(x, middle), QPointF(x + 3 * SPACE, middle))
            x += 3 * SPACE + 6
            text = tr(curve.title, "loss")
            if self._points:
                text = f"{text} {significant(_recent_mean(self._points, curve.field), 3)}"
            painter.setPen(self.palette().text().color())
            width = painter.fontMetrics().horizontalAdvance(text)
            place = QRectF(x, area.top(), width + 2, area.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
            x += width + 3 * SPACE

    def _range(self) -> tuple[float, float]:
        """Return the decimal logarithms of the smallest and largest value, with a margin."""
        values = [v for p in self._points for c in CURVES if (v := getattr(p, c.field)) > 0]
        if not values:
            return -1.0, 1.0
        low, high = math.log10(min(values)), math.log10(max(values))
        air = max(0.05, 0.05 * (high - low))
        return low - air, max(high, low + 0.3) + air

    def _grid(self, painter: QPainter, plot: QRectF, low: float, high: float) -> None:
        muted, faint = self.palette().placeholderText().color(), self.palette().mid().color()
        height = painter.fontMetrics().height()
        last = plot.bottom() + height
        for value in _grid_values(low, high, dense=plot.height() > 6 * height):
            y = plot.bottom() - (math.log10(value) - low) / (high - low) * plot.height()
            painter.setPen(QPen(faint, 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            if last - y < 1.1 * height:
                continue  # the labels would overlap
            last = y
            place = QRectF(0, y - height / 2, plot.left() - 6, height)
            painter.setPen(muted)
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, right, significant(value, 6))
        painter.setPen(muted)
        below = QRectF(plot.left(), plot.bottom() + 4, plot.width(), height)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, "0")
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, tr("steps", "loss"))
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, number(self._last))

    @property
    def _last(self) -> int:
        return max(1, self._iterations, self._points[-1].iteration if self._points else 1)

    def _curve(
        self, painter: QPainter, plot: QRectF, curve: Curve, low: float, high: float
    ) -> None:
        def at(x: float, value: float) -> QPointF:
            share = (math.log10(max(value, 1e-9)) - low) / (high - low)
            return QPointF(plot.left() + x * plot.width(), plot.bottom() - share * plot.height())

        buckets = list(_buckets(self._points, curve.field, self._last, int(plot.width())))
        color = self._color(curve)
        faint = QColor(color)
        faint.setAlphaF(0.28)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(faint, 1))
        painter.drawPolyline(QPolygonF([at(x, value) for x, value in buckets]))
        pen = QPen(color, 2.0, curve.dash)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        smooth = _smooth(buckets)
        painter.drawPolyline(QPolygonF([at(x, value) for x, value in smooth]))
        if smooth:
            x, value = smooth[-1]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawEllipse(at(x, value), 3.0, 3.0)


def _recent_mean(points: Sequence[LossPoint], field: str) -> float:
    """Return the mean of the latest tenth of the points, at most 20."""
    newest = points[-max(1, min(20, len(points) // 10)) :]
    return sum(getattr(point, field) for point in newest) / len(newest)


def _buckets(
    points: Sequence[LossPoint], field: str, last: int, columns: int
) -> Iterator[tuple[float, float]]:
    """Yield (position 0-1, mean) of the points in each pixel column."""
    columns = max(columns, 1)
    column, total, count = -1, 0.0, 0
    for point in points:
        here = point.iteration * columns // last
        if here != column and count:
            yield column / columns, total / count
            total, count = 0.0, 0
        column = here
        total += getattr(point, field)
        count += 1
    if count:
        yield column / columns, total / count


def _smooth(buckets: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the exponential moving average of the logarithms, from both sides to avoid lag."""
    if not buckets:
        return []
    reach = SMOOTH * max(buckets[-1][0] - buckets[0][0], 1e-9)
    logs = [(x, math.log(max(value, 1e-9))) for x, value in buckets]
    after = _exponential_mean(logs, reach)
    before = _exponential_mean(logs[::-1], reach)[::-1]
    return [
        (x, math.exp((left + right) / 2))
        for (x, _), left, right in zip(logs, after, before, strict=True)
    ]


def _exponential_mean(values: Sequence[tuple[float, float]], reach: float) -> list[float]:
    """Return the exponential moving average with the distance constant `reach`."""
    means: list[float] = []
    for index, (x, value) in enumerate(values):
        keep = math.exp(-abs(x - values[index - 1][0]) / reach) if index else 0.0
        means.append(keep * means[-1] + (1 - keep) * value if index else value)
    return means


def _grid_values(low: float, high: float, *, dense: bool) -> Iterator[float]:
    """Yield 1, 2, 5, 10, ... between two decimal logarithms; only powers of ten if not `dense`."""
    factors = (1.0, 2.0, 5.0) if dense or high - low < 1.5 else (1.0,)
    for power in range(math.floor(low), math.ceil(high) + 1):
        for factor in factors:
            if low <= math.log10(factor) + power <= high:
                yield factor * 10.0**power
