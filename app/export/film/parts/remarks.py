"""Remarks about finished and unfinished films."""

from __future__ import annotations

from collections.abc import Iterator

from app.export.film.info import FilmInfo, FilmReading
from app.export.film.parts.request import SHORT, FilmRequest
from app.export.film.store import SegmentStore
from utils.translation.numbers import number
from utils.translation.texts import tr, trn


def kept_of(store: SegmentStore) -> str:
    """Describe the finished frames of an unfinished film, as a clause."""
    if not store.frames:
        return tr("no part of it was finished")
    return trn(
        "{n} frame is finished; the same command continues after it",
        "{n} frames are finished; the same command continues after them",
        store.frames,
        n=number(store.frames),
    )


def remarks_of(request: FilmRequest, reading: FilmReading) -> Iterator[str]:
    """Yield the differences from the source, one clause each."""
    info, encoding = request.info, request.encoding
    if (info.width, info.height) != (encoding.width, encoding.height):
        yield tr(
            "it has {size} instead of {whole} pixels, since {codec} needs even sizes",
            size=f"{encoding.width}x{encoding.height}",
            whole=f"{info.width}x{info.height}",
            codec=encoding.codec.title,
        )
    if reading.scaled:
        yield trn(
            "{n} frame of another size was scaled to the size of the first",
            "{n} frames of another size were scaled to the size of the first",
            reading.scaled,
            n=number(reading.scaled),
        )


def faults_of(info: FilmInfo, reading: FilmReading, store: SegmentStore) -> tuple[str, ...]:
    """Return the unreadable parts of a film, one clause each; the store has at least one part."""
    frames, first, last = store.frames, store.segments[0], store.segments[-1]
    begins = min(first.start, info.start)
    seconds = float((last.last + last.duration - begins) * info.time_base)
    faults: list[str] = []
    if reading.fault:
        faults.append(
            trn(
                "only {n} frame could be read: {fault}",
                "only {n} frames could be read: {fault}",
                frames,
                n=number(frames),
                fault=reading.fault,
            )
        )
    if reading.damaged:
        faults.append(
            trn(
                "{n} packet could not be decoded",
                "{n} packets could not be decoded",
                reading.damaged,
                n=number(reading.damaged),
            )
        )
    if info.counted and frames < SHORT * info.count:
        faults.append(
            tr(
                "only {read} of {n} declared frames could be read",
                read=number(frames),
                n=number(info.count),
            )
        )
    elif info.timed and not info.counted and seconds < SHORT * info.seconds - 2 / info.rate:
        faults.append(
            tr(
                "only {read} of {n} declared seconds could be read",
                read=number(seconds, 1),
                n=number(info.seconds, 1),
            )
        )
    return tuple(faults)
