"""Jobs of the queue and their files."""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from app.errors import StyleForgeError
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.text import printable

FORMAT = 1
MAX_BYTES = 256 << 20  # size limit of a job's file: a few million inputs


class QueueError(StyleForgeError):
    """Raised if the queue cannot carry out a request, or a job's file is damaged."""


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"  # if no process holds the lock, the process died
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A `stylize` run that is waiting, running or over.

    Attributes:
        number: Identifies the job. By default, jobs run in the order of their numbers.
        arguments: Arguments of `stylize`, with absolute paths.
        added_at: In seconds since 1970.
        attempts: How many processes have started it since it was added or retried.
        stamps: The `stamp_of` each input that was a file when the job was added.
    """

    number: int
    arguments: tuple[str, ...]
    added_at: float
    state: JobState = JobState.WAITING
    attempts: int = 0
    error: str = ""
    stamps: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the job's file atomically. Raises OSError if it cannot be written."""
        values = {"format": FORMAT, **asdict(self)}
        del values["number"]
        atomic_write(path, (json.dumps(values, indent=1) + "\n").encode())


def stamp_of(path: str | Path) -> str:
    """Return a file's size and modification time as text; "" if there is no file.

    A copy may keep the time of its original, so a changed file may be older than before.
    """
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ""
    return f"{found.st_size} {found.st_mtime_ns}" if stat.S_ISREG(found.st_mode) else ""


def read_job(path: Path) -> QueuedJob:
    """Read a job's file, whose name is the job's number.

    Raises:
        FileNotFoundError: If there is no such job.
        QueueError: If the file is damaged or cannot be read.
    """
    shown = printable(str(path))
    try:
        values: Any = small_json.load(path, MAX_BYTES)
        if values["format"] != FORMAT:
            raise QueueError(f"the job '{shown}' was written by another version of StyleForge")
        arguments, added_at = values["arguments"], values["added_at"]
        attempts, error = values["attempts"], values["error"]
        texts = isinstance(arguments, list) and all(isinstance(word, str) for word in arguments)
        stamps = values.get("stamps", {})  # earlier versions wrote none
        if not (texts and type(attempts) is int and isinstance(error, str)):
            raise TypeError("arguments should be texts, attempts a number, error a text")
        if not all(isinstance(stamp, str) for stamp in stamps.values()):
            raise TypeError("stamps should be texts")
        if not math.isfinite(added_at):
            raise ValueError("there is no such time")
        state = JobState(values["state"])
        number = int(path.stem)
        return QueuedJob(number, tuple(arguments), added_at, state, attempts, error, stamps)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise QueueError(f"the job '{shown}' cannot be read: {exc.strerror or exc}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise QueueError(f"the file '{shown}' of a job is damaged; it can be deleted") from exc
