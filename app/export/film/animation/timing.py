"""Delays of animation frames in the unit of the file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def frame_delays(
    shown: Sequence[Fraction], end: Fraction, unit: Fraction, least: int
) -> list[int | None]:
    """Choose the duration of each frame of an animation.

    Args:
        shown: Times of the frames in seconds, in order; `end` is the end of the last one.
        unit: The file's unit in seconds. Times are rounded to it, so errors do not accumulate.
        least: The shortest delay, in units, that players honor.

    Returns:
        Units for each frame. None drops a frame that follows the previous one by less than `least`.
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
