"""The compare view: baseline and fused picture, their latencies, and the speedup."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPalette

from app.engine.result import EQUAL, Comparison, LatencyStats
from app.frame import Frame
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import draw_pill, scaled
from models.precision import Precision
from utils.text import capitalized
from utils.translation.numbers import number, significant
from utils.translation.texts import mark, tr

GAP = 2 * SPACE
WAITING = "..."  # in place of figures that too few frames were measured for
_PLAIN = {
    "Baseline": mark("Plain PyTorch"),
    "Fused": "StyleForge",
    "Fused norm": mark("Partly fused"),
}
_WRAP = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap


def network_name(title: str) -> str:
    """Return the name shown with a network's picture: our variants have plain names."""
    return tr(_PLAIN[title]) if title in _PLAIN else title


def latency_text(pace: LatencyStats, *, settled: bool = True) -> tuple[str, str]:
    """Return rate and latency of one network: ("12.3 fps alone", "81.2 ms a frame (median), ...").

    The text says "alone" because the two networks share the machine during a comparison. Until
    enough frames are measured (`settled`), both texts are WAITING or empty.
    """
    if not settled:
        return WAITING, ""
    if pace.fps >= 1:
        rate = tr("{fps} fps alone", fps=number(pace.fps, 1))
    else:
        rate = tr("{s} s a picture alone", s=number(pace.median / 1e3, 1))
    return (
        rate,
        tr(
            "{median} ms a frame (median), {p95} ms (p95)",
            median=number(pace.median, 1),
            p95=number(pace.p95, 1),
        ),
    )


def ratio_text(comparison: Comparison) -> str:
    """Return "1.7 times faster", or "withheld" if the pictures differ."""
    ratio = comparison.ratio
    if ratio is None:
        return tr("withheld")
    if not comparison.settled:
        return WAITING
    if abs(ratio - 1) <= EQUAL:
        return tr("equally fast")
    if ratio >= 1:
        return tr("{ratio} times faster", ratio=number(ratio, 1))
    return tr("{ratio} times slower", ratio=number(1 / ratio, 1))


def conditions_text(comparison: Comparison) -> str:
    width, height = comparison.size
    return tr(
        "At {width}x{height}, {precision}",
        width=width,
        height=height,
        precision=comparison.precision.title,
    )


def bound_text(precision: Precision) -> str:
    """Return the bound for two pictures to agree: "largest difference at most 0.5 of 255"."""
    most = precision.value.max_difference
    if most is not None:
        return tr("largest difference at most {most} of 255", most=significant(most, 6))
    return tr("PSNR at least {psnr} dB", psnr=significant(precision.value.min_psnr, 6))


def difference_text(comparison: Comparison) -> str:
    if math.isinf(comparison.psnr):
        return tr("The pictures are identical.")
    values = {
        "largest": significant(comparison.difference, 3),
        "psnr": number(comparison.psnr, 1),
        "bound": bound_text(comparison.precision),
    }
    if comparison.agrees:
        return tr(
            "The pictures look identical: largest difference {largest} of 255, PSNR {psnr} dB; "
            "allowed: {bound}.",
            **values,
        )
    return tr(
        "Pictures differ by {largest} of 255, PSNR {psnr} dB, outside the bound: {bound}.", **values
    )


def summary(comparison: Comparison) -> str:
    baseline, fused = (", ".join(filter(None, pace)) for pace in _paces(comparison))
    return (
        f"{network_name(comparison.baseline_title)}: {baseline}. "
        f"{network_name(comparison.fused_title)}: {fused}. "
        f"{capitalized(ratio_text(comparison))}. {conditions_text(comparison)}. "
        f"{difference_text(comparison)}"
    )


def _paces(comparison: Comparison) -> list[tuple[str, str]]:
    both = comparison.baseline_latency, comparison.fused_latency
    return [latency_text(pace, settled=comparison.settled) for pace in both]


def paint_comparison(
    painter: QPainter,
    area: QRect,
    palette: QPalette,
    pictures: Comparison,
    figures: Comparison,
    draw: Callable[[Frame, QRect], None],
) -> None:
    """Paint two pictures side by side below their figures, since toasts come from below.

    Args:
        pictures: The newest comparison.
        figures: The comparison whose figures are shown, which may be slightly older.
        draw: `draw(frame, place)` paints a frame.
    """
    base = painter.font()
    large, small = scaled(base, 1.7, bold=True), scaled(base, 0.95)
    middle = max(200, min(300, area.width() // 3))
    words = f"{conditions_text(figures)}\n{difference_text(figures)}"
    lines = QFontMetrics(small).boundingRect(QRect(0, 0, middle, area.height()), _WRAP, words)
    head = QFontMetrics(large).height() + lines.height() + 2 * SPACE

    inner = area.adjusted(GAP, GAP, -GAP, -GAP)
    half = QSize((inner.width() - GAP) // 2, max(1, inner.height() - head))
    size = QSize(pictures.fused.width, pictures.fused.height)
    size.scale(half, Qt.AspectRatioMode.KeepAspectRatio)
    above = inner.top() + (half.height() - size.height()) // 2
    top = above + head
    center = inner.center().x()
    left = QRect(center - GAP // 2 - size.width(), top, size.width(), size.height())
    right = QRect(center + GAP // 2, top, size.width(), size.height())
    draw(pictures.baseline, left)
    draw(pictures.fused, right)
    painter.setFont(base)
    # At the inner edges, so that the names do not overlap if the pictures are narrow.
    corner = left.topRight() + QPoint(-SPACE, SPACE)
    draw_pill(painter, corner, network_name(figures.baseline_title), right=True)
    corner = right.topLeft() + QPoint(SPACE, SPACE)
    draw_pill(painter, corner, network_name(figures.fused_title))

    text, muted = palette.text().color(), palette.placeholderText().color()
    room = (inner.width() - middle) // 2 - SPACE
    between = QRect(center - middle // 2, above, middle, head)
    paces = _paces(figures)
    widths = (
        max(QFontMetrics(large).horizontalAdvance(rate), QFontMetrics(small).horizontalAdvance(ms))
        for rate, ms in paces
    )
    side = min(room, 4 + max(widths))
    # Centered above the pictures, unless the text in the middle needs the space.
    under = QRect(left.center().x() - side // 2, above, side, head)
    under.moveRight(min(under.right(), between.left() - SPACE))
    beside = QRect(right.center().x() - side // 2, above, side, head)
    beside.moveLeft(max(beside.left(), between.right() + SPACE))
    columns = (
        (under, *paces[0], text),
        (between, ratio_text(figures), words, palette.highlight().color()),
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
