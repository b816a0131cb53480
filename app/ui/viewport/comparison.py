"""Baseline beside fused: the two pictures, their figures, and the ratio between them."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPalette

from app.engine.result import Comparison, LatencyStats
from app.frame import Frame
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import draw_pill, scaled

GAP = 2 * SPACE
_WRAP = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap


def pace_words(pace: LatencyStats) -> tuple[str, str]:
    """("12.3 fps alone", "81.2 ms a frame (median), 95.0 ms (p95)"): of the network by itself,
    since the two share the machine here."""
    return (
        f"{pace.fps:.1f} fps alone",
        f"{pace.median:.1f} ms a frame (median), {pace.p95:.1f} ms (p95)",
    )


def ratio_words(comparison: Comparison) -> str:
    """The ratio, whatever it is, or that it is withheld."""
    ratio = comparison.ratio
    return "withheld" if ratio is None else f"{ratio:.2f}x"


def conditions_words(comparison: Comparison) -> str:
    """("At 384x216, FP32"): what both networks worked at, and in."""
    width, height = comparison.size
    return f"At {width}x{height}, {comparison.precision.title}"


def difference_words(comparison: Comparison) -> str:
    """How much the two pictures differ, and beside which bound."""
    psnr = "identical" if math.isinf(comparison.psnr) else f"PSNR {comparison.psnr:.1f} dB"
    largest = f"{comparison.difference:.3g}"
    if comparison.agrees:
        return f"Largest difference {largest} of 255, {psnr}. Bound: {comparison.bound}."
    return f"Pictures differ by {largest} of 255, {psnr}, outside the bound: {comparison.bound}."


def summary(comparison: Comparison) -> str:
    """Everything shown, as one sentence for a screen reader."""
    baseline = ", ".join(pace_words(comparison.baseline_latency))
    fused = ", ".join(pace_words(comparison.fused_latency))
    return (
        f"Baseline: {baseline}. {comparison.fused_title}: {fused}. "
        f"Ratio {ratio_words(comparison)}. {conditions_words(comparison)}. "
        f"{difference_words(comparison)}"
    )


def paint_comparison(
    painter: QPainter,
    area: QRect,
    palette: QPalette,
    pictures: Comparison,
    figures: Comparison,
    draw: Callable[[Frame, QRect], None],
) -> None:
    """Fill `area` with the newest `pictures` and with `figures`, which may be a little older;
    `draw(frame, place)` puts a picture on the screen."""
    base = painter.font()
    large, small = scaled(base, 1.7, bold=True), scaled(base, 0.95)
    middle = max(200, min(300, area.width() // 3))
    words = f"{conditions_words(figures)}\n{difference_words(figures)}"
    lines = QFontMetrics(small).boundingRect(QRect(0, 0, middle, area.height()), _WRAP, words)
    foot = QFontMetrics(large).height() + lines.height() + 3 * SPACE

    inner = area.adjusted(GAP, GAP, -GAP, -GAP)
    half = QSize((inner.width() - GAP) // 2, max(1, inner.height() - foot))
    size = QSize(pictures.fused.width, pictures.fused.height)
    size.scale(half, Qt.AspectRatioMode.KeepAspectRatio)
    top = inner.top() + (half.height() - size.height()) // 2
    center = inner.center().x()
    left = QRect(center - GAP // 2 - size.width(), top, size.width(), size.height())
    right = QRect(center + GAP // 2, top, size.width(), size.height())
    draw(pictures.baseline, left)
    draw(pictures.fused, right)
    painter.setFont(base)
    # At the inner edges, so that the names stay apart however narrow the pictures are.
    lift = 2 * SPACE + painter.fontMetrics().height()
    draw_pill(painter, left.bottomRight() - QPoint(SPACE, lift), "Baseline", right=True)
    draw_pill(painter, right.bottomLeft() + QPoint(SPACE, -lift), figures.fused_title)

    below = top + size.height() + SPACE
    text, muted = palette.text().color(), palette.placeholderText().color()
    room = (inner.width() - middle) // 2 - SPACE
    between = QRect(center - middle // 2, below, middle, foot)
    paces = [pace_words(pace) for pace in (figures.baseline_latency, figures.fused_latency)]
    side = min(room, 4 + max(QFontMetrics(small).horizontalAdvance(detail) for _, detail in paces))
    # Under their pictures, as far as the words between them leave room.
    under = QRect(left.center().x() - side // 2, below, side, foot)
    under.moveRight(min(under.right(), between.left() - SPACE))
    beside = QRect(right.center().x() - side // 2, below, side, foot)
    beside.moveLeft(max(beside.left(), between.right() + SPACE))
    columns = (
        (under, *paces[0], text),
        (between, ratio_words(figures), words, palette.highlight().color()),
        (beside, *paces[1], text),
    )
    for place, headline, detail, color in columns:
        painter.setFont(large)
        painter.setPen(color)
        painter.drawText(place, _WRAP, headline)
        painter.setFont(small)
        painter.setPen(muted)
        rest = place.adjusted(0, QFontMetrics(large).height() + SPACE // 2, 0, 0)
        painter.drawText(rest, _WRAP, detail)
    painter.setFont(base)
