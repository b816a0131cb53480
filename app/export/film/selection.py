"""The choice of a part of a film, a smaller size, or no sound, before the film is made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from app.export.film.fault import FilmError, named
from app.export.film.info import FilmInfo, Span
from utils.pyav import av
from utils.translation.texts import tr

LINES = (2160, 1440, 1080, 720, 480)  # of smaller films: pixels of the shorter side


def smaller_size(width: int, height: int, lines: int) -> tuple[int, int]:
    """Scale a size down so that its shorter side is `lines`; 0 or a larger number changes nothing.

    The other side is even, as most codecs require.
    """
    shorter = min(width, height)
    if not lines or lines >= shorter:
        return width, height
    across, down = (2 * round(side * lines / shorter / 2) for side in (width, height))
    return (lines, down) if width < height else (across, lines)


def selected(
    info: FilmInfo,
    *,
    part: tuple[float, float] | None = None,
    lines: int = 0,
    sound: bool = True,
) -> FilmInfo:
    """Return the properties of the film that is made from a choice.

    Args:
        info: The properties of the whole film.
        part: Begin and end in seconds from the start of the picture; the frame at the begin belongs
            to the part, the frame at the end does not. None for the whole film.
        lines: See `smaller_size`.

    Raises:
        FilmError: If the part contains no frame.
    """
    size = smaller_size(info.width, info.height, lines)
    if size != (info.width, info.height):
        width, height = size
        info = replace(info, width=width, height=height, whole=(info.width, info.height))
    if part is not None:
        info = _cut(info, *part)
    return replace(info, sound=sound)


def _cut(info: FilmInfo, begin: float, end: float) -> FilmInfo:
    """Return the properties of a part; its count is exact for an animation only."""
    length = info.seconds or end
    seconds = max(0.0, min(end, length) - begin)
    if seconds <= 0:
        raise FilmError(tr("the chosen part of {file} has no frame", file=named(info.path)))
    # A frame's time in seconds is rounded, so half a tick decides.
    first, last = (
        info.start + math.ceil(Fraction(second) / info.time_base - Fraction(1, 2))
        for second in (begin, end)
    )
    return replace(
        info,
        span=Span(first, last),
        seconds=seconds,
        count=max(1, round(seconds * info.rate)),
        counted=False,
        start=first,
    )


def shift_of(info: FilmInfo) -> Fraction | None:
    """Return the seconds at which the span of a film begins; None without a span."""
    return None if info.span is None else info.span.begin * info.time_base


def end_of(info: FilmInfo) -> Fraction | None:
    """Return the seconds at which the span of a film ends; None without a span."""
    return None if info.span is None else info.span.end * info.time_base


def cut_chapters(chapters: Sequence[Any], shift: Fraction, end: Fraction | None) -> Iterator[Any]:
    """Yield the chapters of a part, with times that count from its begin.

    Args:
        chapters: PyAV's dictionaries.
        shift: Seconds subtracted from all times.
        end: The end of the part, in seconds of the source; None keeps all chapters unshortened.
    """
    for chapter in chapters:
        base = chapter["time_base"] or Fraction(1)
        begins, ends = (chapter[key] - round(shift / base) for key in ("start", "end"))
        if end is not None:
            begins, ends = max(0, begins), min(ends, round((end - shift) / base))
            if ends <= begins:
                continue
        yield {**chapter, "start": begins, "end": ends}


def cut_subtitle(packet: av.Packet[Any], shown: int, begin: int, end: int) -> bool:
    """Shorten a subtitle to a part; return whether any of it is left. Times in its time base."""
    first, last = max(shown, begin), min(shown + (packet.duration or 0), end)
    if last <= first and not begin <= shown < end:
        return False
    packet.pts = packet.dts = first
    if packet.duration:
        packet.duration = max(0, last - first)
    return True
