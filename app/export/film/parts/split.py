"""Where a film can be split, so that its parts are made apart and joined without a seam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.export.film.fault import FAULTS, FilmError, named, reason
from app.export.film.info import FilmInfo
from app.export.film.reader import open_film
from utils.translation.texts import tr

AT_MOST_PARTS = 32  # that a short film is split into
SHORTEST = 48  # frames of a part: shorter ones take more time to begin than they share out


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a film: the frames from one time until another.

    Attributes:
        number: From 0.
        first: When its first frame is shown, in the film's time base; that of a key frame.
        until: When the first frame of the next part is; None to the end.
        frames: How many it has, by the packets of the film.
    """

    number: int
    first: int
    until: int | None
    frames: int


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a film; one alone where `reason` says, as a clause, why it has no more."""

    parts: tuple[Part, ...]
    reason: str = ""


def split(info: FilmInfo, least: int | None = None) -> Split:
    """Split a film at key frames, by its packets, of which none is decoded.

    Args:
        info: The film.
        least: The fewest frames of a part; None for some that give a short film several parts.

    Raises:
        FilmError: The film cannot be read.
    """
    if info.animation is not None:
        return Split((), "an animation is read from its first frame on")
    try:
        times, keys = _times_of(info)
    except FAULTS as exc:
        raise FilmError(
            tr("{file} cannot be read: {fault}", file=named(info.path), fault=reason(exc))
        ) from exc
    if not times or len(set(times)) < len(times):
        return Split((), "its frames have no times of their own")
    shown = sorted(times)
    if least is None:
        least = max(SHORTEST, len(shown) // AT_MOST_PARTS)
    parts = _parts(shown, sorted(set(keys)), least)
    return Split(parts, "" if len(parts) > 1 else "it has no second key frame to split it at")


def _times_of(info: FilmInfo) -> tuple[list[int], list[int]]:
    """When its frames are shown, and those that are key frames; no times if one has none."""
    times: list[int] = []
    keys: list[int] = []
    with open_film(info.path) as (container, stream):
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except FAULTS:
                break  # reading the last part meets the fault again, and says so
            if packet is None:
                break
            if not packet.size or packet.is_discard:
                continue
            if packet.pts is None:
                return [], []
            times.append(packet.pts)
            if packet.is_keyframe:
                keys.append(packet.pts)
    return times, keys


def _parts(shown: Sequence[int], keys: Sequence[int], least: int) -> tuple[Part, ...]:
    place = {time: number for number, time in enumerate(shown)}
    begins = [0]
    for key in keys:
        if place[key] - begins[-1] >= least and len(shown) - place[key] >= min(least, SHORTEST):
            begins.append(place[key])
    ends = [*begins[1:], len(shown)]
    return tuple(
        Part(
            number,
            shown[begin],
            shown[end] if end < len(shown) else None,
            end - begin,
        )
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    )
