"""Splitting of films into parts that are made separately and joined without a seam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.export.film.fault import FAULTS, FilmError, named, reason
from app.export.film.info import FilmInfo
from app.export.film.reader import open_film
from utils.translation.texts import tr

AT_MOST_PARTS = 32  # of a short film
SHORTEST = 48  # frames per part; starting a shorter one takes longer than sharing saves


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a film, numbered from 0: the frames between two times.

    Attributes:
        first: Time of its first frame, a key frame, in the film's time base.
        until: Time of the next part's first frame; None for the last part.
        frames: Number of its frames, from the film's packets.
    """

    number: int
    first: int
    until: int | None
    frames: int


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a film. If there are fewer than two, `reason` says why, as a clause."""

    parts: tuple[Part, ...]
    reason: str = ""


def split(info: FilmInfo, least: int | None = None) -> Split:
    """Split a film at key frames, from its packets alone, without decoding.

    Args:
        least: Minimum frames per part; None picks a number that splits even a short film.

    Raises:
        FilmError: If the film cannot be read.
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
    """Return the times of all frames and of the key frames; no times if a frame lacks one."""
    times: list[int] = []
    keys: list[int] = []
    with open_film(info.path) as (container, stream):
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except FAULTS:
                break  # reading the last part meets and reports the same fault
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
        Part(number, shown[begin], shown[end] if end < len(shown) else None, end - begin)
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    )
