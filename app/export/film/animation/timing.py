"""When the frames of an animation are shown, in the unit of its file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def frame_delays(
    shown: Sequence[Fraction], end: Fraction, unit: Fraction, least: int
) -> list[int | None]:
    """Choose for how long each frame of an animation is shown.

    Args:
        shown: When frames are shown, in seconds, in their order.
        end: When the last one is over.
        unit: Of the file, in seconds. Times are rounded to it, so that nothing adds up.
        least: The shortest delay, in units, that is shown as it is.

    Returns:
        Units for each frame; None for one that has to be left out, since the one before it is shown
        shorter than `least`.
    """
    ticks = [round(time / unit) for time in shown]
    kept = [0]
    for number, tick in enumerate(ticks[1:], 1):
        if tick - ticks[kept[-1]] >= least:
            kept.append(number)
    delays: list[int | None] = [None] * len(ticks)
    following = [ticks[number] for number in kept[1:]] + [max(round(end / unit), ticks[-1] + 1)]
    for number, until in zip(kept, following, strict=True):
        delays[number] = until - ticks[number]
    return delays
