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
        return tr("nothing of it was finished")
    return trn(
        "{n} frames are finished, and the same command goes on behind them",
        "{n} frames are finished, and the same command goes on behind them",
        store.frames,
        n=number(store.frames),
    )


def remarks_of(request: FilmRequest, reading: FilmReading) -> Iterator[str]:
    """Yield the differences from the source, one clause each."""
    info, encoding = request.info, request.encoding
    if (info.width, info.height) != (encoding.width, encoding.height):
        yield tr(
            "it has {size} of {whole} pixels, since {codec} needs even sizes",
            size=f"{encoding.width}x{encoding.height}",
            whole=f"{info.width}x{info.height}",
            codec=encoding.codec.title,
        )
    if reading.scaled:
        yield trn(
            "{n} frames of another size were scaled to that of the first",
            "{n} frames of another size were scaled to that of the first",
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
                "it could be read for {n} frames only: {fault}",
                "it could be read for {n} frames only: {fault}",
                frames,
                n=number(frames),
                fault=reading.fault,
            )
        )
    if reading.damaged:
        faults.append(
            trn(
                "{n} packets of it could not be decoded",
                "{n} packets of it could not be decoded",
                reading.damaged,
                n=number(reading.damaged),
            )
        )
    if info.counted and frames < SHORT * info.count:
        faults.append(
            tr(
                "{read} of the {n} frames that it says to have could be read",
                read=number(frames),
                n=number(info.count),
            )
        )
    elif info.timed and not info.counted and seconds < SHORT * info.seconds - 2 / info.rate:
        faults.append(
            tr(
                "{read} of the {n} seconds that it says to have could be read",
                read=number(seconds, 1),
                n=number(info.seconds, 1),
            )
        )
    return tuple(faults)
