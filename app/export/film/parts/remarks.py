"""What is to be said of a film that was made, and of one that was not."""

from __future__ import annotations

from collections.abc import Iterator

from app.export.film.info import FilmInfo, FilmReading
from app.export.film.parts.request import SHORT, FilmRequest
from app.export.film.store import SegmentStore


def kept_of(store: SegmentStore) -> str:
    """What of a film is finished that was not made, as a clause."""
    return (
        f"{store.frames} frames are finished, and the same command goes on behind them"
        if store.frames
        else "nothing of it was finished"
    )


def remarks_of(request: FilmRequest, reading: FilmReading) -> Iterator[str]:
    """What is not as in the source, one clause each."""
    info, encoding = request.info, request.encoding
    if (info.width, info.height) != (encoding.width, encoding.height):
        yield (
            f"it has {encoding.width}x{encoding.height} of {info.width}x{info.height} pixels, "
            f"since {encoding.codec.title} needs even sizes"
        )
    if reading.scaled:
        yield f"{reading.scaled} frames of another size were scaled to that of the first"


def faults_of(info: FilmInfo, reading: FilmReading, store: SegmentStore) -> tuple[str, ...]:
    """What of a film could not be read, one clause each.

    Args:
        info: The film.
        reading: What went wrong.
        store: Its parts, at least one.
    """
    frames, first, last = store.frames, store.segments[0], store.segments[-1]
    seconds = float((last.last + last.duration - first.start) * info.time_base)
    faults: list[str] = []
    if reading.fault:
        faults.append(f"it could be read for {frames} frames only: {reading.fault}")
    if reading.damaged:
        faults.append(f"{reading.damaged} packets of it could not be decoded")
    if info.counted and frames < SHORT * info.count:
        faults.append(f"{frames} of the {info.count} frames that it says to have could be read")
    elif info.timed and not info.counted and seconds < SHORT * info.seconds - 2 / info.rate:
        said = f"{info.seconds:.1f} seconds that it says to have"
        faults.append(f"{seconds:.1f} of the {said} could be read")
    return tuple(faults)
