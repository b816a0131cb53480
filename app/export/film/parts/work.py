"""Making of film parts in one of the processes that share the film."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.engine.result import StyledFrame
from app.export.film.fault import FilmError, unmade
from app.export.film.info import FilmReading
from app.export.film.parts.line import FilmLine, PartFrame, Styling
from app.export.film.parts.output import PartWriter
from app.export.film.parts.request import FilmCancelled, FilmRequest
from app.export.film.parts.split import Part
from app.export.film.reader import read_frames
from app.export.film.store import part_file
from utils.translation.joints import clauses
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class MadePart:
    """A part whose file is complete; like app.export.film.store.Segment, without its name."""

    path: Path
    start: int
    times: tuple[int, ...]
    duration: int


@dataclass(frozen=True, slots=True)
class LineCount:
    """The progress of a process: how many more frames are styled, and its notices."""

    frames: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineEnd:
    """The summary of a process; `busy` is in seconds, and `running` is "" without frames."""

    busy: dict[str, float]
    running: str
    reading: FilmReading


class Teller(Protocol):
    """A receiver of a process's messages, called on several threads."""

    on_stop: Callable[[], object]

    def answer(self, item: Hashable, value: object) -> None: ...

    def news(self, value: object) -> None: ...


@dataclass(frozen=True, slots=True)
class FilmWork:
    """A film whose parts are requested, and the folder for them."""

    request: FilmRequest
    folder: Path

    def unmade(self, fault: str) -> FilmError:
        """Build the error that the film cannot be made; `fault` is a clause."""
        return unmade(self.request.target, self.request.info.path, fault)


def make_parts(
    work: FilmWork, styling: Styling, parts: Iterable[Part], teller: Teller, notices: list[str]
) -> LineEnd:
    """Make parts of a film.

    Args:
        parts: Taken on a separate thread, each once the previous part has been read.
        notices: Where the engine adds its notices; emptied here.

    Raises:
        FilmCancelled: If the teller ended the work.
        StyleForgeError: If a part cannot be read or made.
    """
    line = FilmLine(work.request.output, styling)
    reading = FilmReading()
    given: dict[int, Part] = {}

    def told(count: int, _newest: StyledFrame) -> None:
        said = tuple(notices)
        notices.clear()
        teller.news(LineCount(count, said))

    def frames() -> Generator[PartFrame]:
        for part in parts:
            given[part.number] = part
            count = 0
            coming = read_frames(work.request.info, reading, part.first - 1, part.until)
            with closing(coming):
                for count, frame in enumerate(coming, 1):  # noqa: B007
                    yield PartFrame(frame, part.number)
            if not count:
                teller.answer(part, None)

    teller.on_stop = line.cancel
    line.run(frames(), _ToldParts(work, given, teller), told)
    if line.cancelled:
        raise FilmCancelled(tr("the film was cancelled"))
    return LineEnd(line.clock.seconds, line.running, reading)


class _ToldParts:
    """A sink that reports every complete part."""

    def __init__(self, work: FilmWork, given: dict[int, Part], teller: Teller) -> None:
        self._work, self._given, self._teller = work, given, teller

    def begin(self, number: int) -> Path:
        return part_file(self._work.folder, number)

    def styled(self, batch: Sequence[PartFrame]) -> None:
        """Do nothing: each frame is styled independently, so there is no state to save."""

    def keep(self, number: int, made: PartWriter) -> None:
        times = tuple(made.times)
        self._teller.answer(
            self._given[number], MadePart(made.path, made.start, times, made.duration)
        )

    def unwritable(self, fault: str) -> FilmError:
        return self._work.unmade(clauses((fault, tr("its finished parts are kept"))))
