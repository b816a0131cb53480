"""JSON lines on stdout, for scripts."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.tally import FilmOutcome, Tally
from app.commands.reporting import Display
from app.export.film.job import FilmProgress
from utils.text import printable

_FILE = ("number", "of", "source", "result", "state", "error", "seconds", "running")
# The events of --progress json, with their fields besides the name.
EVENTS: Mapping[str, Sequence[str]] = {
    "plan": ("pictures", "films", "skipped", "shard"),
    "problem": ("text",),
    "note": ("text",),
    "picture": _FILE,
    "bands": ("share",),
    "frames": ("source", "done", "of", "fps", "seconds_left"),
    "film": (*_FILE, "frames", "resumed", "fps", "busy", "limit", "encoder", "faults"),
    "end": ("done", "failed", "skipped", "seconds"),
}
FRAMES_EVERY_S = 0.5  # between two events of a film in progress


class JsonReporter(Display):
    """A reporter that prints JSON lines with the keys of EVENTS; fatal errors stay on stderr."""

    def __init__(self) -> None:
        self._begun_at = time.monotonic()
        self._frames_at = -math.inf  # time of the last event of the film in progress

    def problem(self, text: str) -> None:
        self._emit("problem", text=text)

    def note(self, text: str) -> None:
        self._emit("note", text=text)

    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        for state, some in (("planned", jobs), ("skipped", skipped)):
            for number, job in enumerate(some, 1):
                if job.film:
                    self._film(job, number, len(some), state)
                else:
                    self._file("picture", job, number, len(some), state)
        self._end(0, 0, len(skipped))

    def begin(self, jobs: Sequence[Job], skipped: Sequence[Job], shard: str) -> None:
        films = sum(job.film for job in jobs)
        pictures = len(jobs) - films
        self._emit(
            "plan", pictures=pictures, films=films, skipped=len(skipped), shard=shard or None
        )

    def waiting(self, text: str) -> AbstractContextManager[object]:
        return nullcontext()

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        for said in filter(None, (outcome.remark, *outcome.notices)):
            self.note(said)
        running = None if outcome.result is None else str(outcome.result.running)
        state, number = "failed" if error else "done", tally.done + tally.failed
        self._file("picture", outcome.job, number, tally.count, state, error, running)

    def bands(self, share: float) -> None:
        self._emit("bands", share=round(share, 4))

    def frames(self, job: Job, progress: FilmProgress) -> None:
        """Print the progress of a film, from time to time and at its end."""
        now = time.monotonic()
        if now - self._frames_at < FRAMES_EVERY_S and progress.done != progress.count:
            return
        self._frames_at = now
        left = progress.seconds_left
        self._emit(
            "frames",
            source=str(job.source),
            done=progress.done,
            of=progress.count or None,
            fps=round(progress.fps, 2),
            seconds_left=None if left is None else round(left, 1),
        )

    def film(self, outcome: FilmOutcome, tally: Tally) -> None:
        self._frames_at = -math.inf  # so that the first frames of every film are reported
        report, name = outcome.report, printable(outcome.job.source.name)
        for said in (*(report.remarks if report else ()), *outcome.notices):
            self.note(f"{name}: {said}")
        number = tally.done + tally.failed
        if report is None:
            self._film(outcome.job, number, tally.count, "failed", outcome.error)
            return
        made = report.as_dict()
        running = made.pop("running")
        self._film(outcome.job, number, tally.count, "done", "", running, made)

    def end(self, tally: Tally) -> None:
        self._end(tally.done, tally.failed, tally.skipped)

    def _film(
        self,
        job: Job,
        number: int,
        count: int,
        state: str,
        error: str = "",
        running: str | None = None,
        made: Mapping[str, Any] | None = None,
    ) -> None:
        more = {key: (made or {}).get(key) for key in EVENTS["film"] if key not in _FILE}
        self._file("film", job, number, count, state, error, running, **more)

    def _file(
        self,
        event: str,
        job: Job,
        number: int,
        count: int,
        state: str,
        error: str = "",
        running: str | None = None,
        **more: Any,
    ) -> None:
        self._emit(
            event,
            number=number,
            of=count,
            source=str(job.source),
            result=str(job.target),
            state=state,
            error=error or None,
            seconds=self._seconds(),
            running=running,
            **more,
        )

    def _end(self, done: int, failed: int, skipped: int) -> None:
        self._emit("end", done=done, failed=failed, skipped=skipped, seconds=self._seconds())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begun_at, 3)

    def _emit(self, event: str, **values: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
        sys.stdout.flush()  # a reader waits for the line
