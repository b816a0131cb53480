"""Films whose parts several processes make, resuming after finished parts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.export.film.fault import FAULTS, named, reason, unmade
from app.export.film.info import FilmReading
from app.export.film.parts.remarks import kept_of
from app.export.film.parts.request import FilmCancelled, FilmProgress, FilmRequest
from app.export.film.parts.split import Part, Split
from app.export.film.parts.whole import finished
from app.export.film.parts.work import FilmWork, LineCount, LineEnd, MadePart
from app.export.film.report import FilmReport, shares_of
from app.export.film.store import SegmentStore
from utils.translation.joints import clauses
from utils.translation.texts import tr

# Messages about the parts, as they come: a part and its file (None if no frame of it was readable),
# a process's progress, and its summary at the end.
Said = tuple[Part, MadePart | None] | LineCount | LineEnd
Makers = Callable[[FilmWork, Sequence[Part]], Iterable[Said]]


class SharedFilm:
    """A film made by several processes; `on_notice` receives each different notice of an engine."""

    def __init__(
        self,
        request: FilmRequest,
        split: Split,
        sharing: int,
        on_progress: Callable[[FilmProgress], object],
        on_notice: Callable[[str], object],
    ) -> None:
        self._request, self._split, self._sharing = request, split, sharing
        self._on_progress, self._on_notice = on_progress, on_notice

    def run(self, makers: Makers) -> FilmReport:
        """Make the film; `makers` yield fewer results than requested if they were stopped.

        Raises:
            FilmCancelled: If the makers were stopped; finished parts stay.
            StyleForgeError: If the film cannot be made; finished parts stay.
        """
        request = self._request
        try:
            with SegmentStore(request.target, self._identity(), gaps=True) as store:
                return self._make(store, makers)
        except FAULTS as exc:
            raise unmade(request.target, request.info.path, reason(exc)) from exc

    def _identity(self) -> dict[str, str]:
        starts = ", ".join(str(part.first) for part in self._split.parts)
        return {**self._request.whole_identity, "parts": starts}

    def _make(self, store: SegmentStore, makers: Makers) -> FilmReport:
        request, begun = self._request, time.perf_counter()
        resumed, count = store.frames, sum(part.frames for part in self._split.parts)
        left = [part for part in self._split.parts if part.number not in store.finished]
        work = FilmWork(request, store.folder)
        ends: list[LineEnd] = []
        answered = 0
        for said in self._progressing(makers(work, left), resumed, count, begun):
            if isinstance(said, LineEnd):
                ends.append(said)
                continue
            part, made = said
            answered += 1
            if made is not None:
                store.add(part.number, made.path, made.start, made.times, made.duration)
        if answered < len(left):
            cancelled = tr("{file} was cancelled", file=named(request.target))
            kept = kept_of(store)
            if not store.finished:
                store.remove()
            raise FilmCancelled(clauses((cancelled, kept)))
        seconds = time.perf_counter() - begun
        busy: Counter[str] = Counter()
        for end in ends:
            busy.update(end.busy)
        shares = shares_of(busy, seconds * self._sharing)
        running = " and ".join(dict.fromkeys(end.running for end in ends if end.running))
        return finished(request, store, _together(ends), resumed, seconds, shares, running)

    def _progressing(
        self, coming: Iterable[Said], done: int, count: int, begun: float
    ) -> Iterator[tuple[Part, MadePart | None] | LineEnd]:
        """Report the progress of the processes, and pass everything else on."""
        resumed, told = done, set[str]()
        for said in coming:
            if not isinstance(said, LineCount):
                yield said
                continue
            done = min(done + said.frames, count)  # if a process died, its parts are made again
            rate = (done - resumed) / (time.perf_counter() - begun)
            self._on_progress(FilmProgress(done, count, rate))
            for notice in said.notices:
                if notice not in told:
                    told.add(notice)
                    self._on_notice(notice)


def _together(ends: Sequence[LineEnd]) -> FilmReading:
    readings = [end.reading for end in ends]
    return FilmReading(
        sum(each.damaged for each in readings),
        next((each.fault for each in readings if each.fault), ""),
        sum(each.scaled for each in readings),
    )
