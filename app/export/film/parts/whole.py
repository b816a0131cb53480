"""Completion of a film whose parts are all made: assembly and report."""

from __future__ import annotations

from collections.abc import Mapping

from app.export.film.fault import FilmError, named
from app.export.film.info import FilmReading
from app.export.film.parts.remarks import faults_of, kept_of, remarks_of
from app.export.film.parts.request import FilmRequest
from app.export.film.report import FilmReport
from app.export.film.store import SegmentStore
from utils.translation.joints import clauses
from utils.translation.texts import tr


def finished(
    request: FilmRequest,
    store: SegmentStore,
    reading: FilmReading,
    resumed: int,
    seconds: float,
    shares: Mapping[str, float],
    running: str,
) -> FilmReport:
    """Write the file of a film, delete its parts, and return the report.

    Raises:
        FilmError: If there is no part, or the file cannot be written; the parts stay.
    """
    if not store.segments:
        raise FilmError(tr("no frame of {file} can be decoded", file=named(request.info.path)))
    try:
        remarks = request.output.assemble(store, request.target)
    except FilmError as exc:
        raise FilmError(clauses((str(exc), kept_of(store)))) from exc
    frames, faults = store.frames, faults_of(request.info, reading, store)
    store.remove()
    encoder = request.encoding.encoder
    return FilmReport(
        frames,
        resumed,
        seconds,
        dict(shares),
        f"{encoder.name}, {encoder.device}",
        running,
        (*request.info.remarks, *remarks_of(request, reading), *remarks),
        faults,
        request.refused,
    )
