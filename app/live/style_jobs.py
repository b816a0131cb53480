"""Long work on styles in the background, one task after another; it can be canceled."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.background_jobs import Jobs
from app.errors import Problem
from app.styles.catalog import Catalog
from app.styles.pack import MAX_NAME_LENGTH, Style
from models.families.keys import ANY_STYLE
from utils.text import printable
from utils.translation.lists import listed
from utils.translation.texts import mark, tr, trn

Progress = Callable[[str], object]

# Wording of the work's steps after its title.
_STEPS = {
    "Reading the network": mark("reading the network"),
    "Reading the picture": mark("reading the picture"),
    "Finding its style": mark("finding its style"),
    "Saving the style": mark("saving the style"),
}


class JobCanceled(Exception):
    """Raised by the progress callback of a task that the user canceled."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One piece of work.

    Attributes:
        failure: Begins the problem that is reported if `work` raises.
        work: Called with its progress callback on another thread.
        makes: Whether it makes a style that the user requested.
    """

    title: str
    failure: str
    work: Callable[[Progress], Any]
    done: Callable[[Any], object]
    failed: Callable[[], object]
    canceled: threading.Event
    makes: bool = False


class StyleJobs(QObject):
    """A queue of jobs that make styles from pictures, and codes of styles for another network."""

    progress = Signal(str)  # the current work; empty if there is none
    problem = Signal(object)  # Problem
    _step = Signal(object, str)  # a task and its progress, from the thread of the work

    def __init__(self, catalog: Catalog, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalog, self._jobs = catalog, jobs
        self._waiting: deque[_Task] = deque()
        self._current: _Task | None = None
        self._ready: set[str] = set()  # prepared styles
        self._lock = threading.Lock()
        self._closed = False
        self._step.connect(self._on_step)

    @property
    def busy(self) -> bool:
        return self._current is not None

    @property
    def making(self) -> str:
        """The title of the task that makes a style for the user; "" if there is none."""
        tasks = [*([] if self._current is None else [self._current]), *self._waiting]
        return next((task.title for task in tasks if task.makes), "")

    def install_picture(self, path: Path, title: str, done: Callable[[Style], object]) -> None:
        """Make a style from a picture; an empty `title` takes the file's name."""
        name = printable(path.name, MAX_NAME_LENGTH)

        def work(progress: Progress) -> Style:
            return self._catalog.install_picture(path, title=title, progress=progress)

        title = printable(title, MAX_NAME_LENGTH)
        self._add(
            _Task(
                tr("Making the style '{title}'", title=title)
                if title
                else tr("Making a style from '{name}'", name=name),
                tr("Could not make a style from '{name}'", name=name),
                work,
                done,
                lambda: None,
                threading.Event(),
                makes=True,
            )
        )

    def unprepared(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        families = {style.key: style.family for style in self._catalog.styles}
        return tuple(
            key for key in keys if families.get(key) == ANY_STYLE and key not in self._ready
        )

    def prepare(
        self,
        keys: tuple[str, ...],
        done: Callable[[], object],
        failed: Callable[[], object],
    ) -> None:
        """Make missing codes of styles for the networks that paint them.

        `done` follows when all have one; `failed` if one cannot be made, or the user canceled.
        """
        titles = {style.key: style.title for style in self._catalog.styles}
        named = listed([f"'{printable(titles[key], MAX_NAME_LENGTH)}'" for key in keys])

        def work(progress: Progress) -> None:
            for key in keys:
                self._catalog.prepare(key, progress)

        def prepared(_: None) -> None:
            self._ready.update(keys)
            done()

        self._add(
            _Task(
                tr("Preparing {styles}", styles=named),
                mark("Could not apply this choice"),
                work,
                prepared,
                failed,
                threading.Event(),
            ),
            first=True,
        )

    def mark_prepared(self, key: str) -> None:
        self._ready.add(key)

    def forget(self, key: str) -> None:
        """Mark a style as not prepared, after its files were replaced or removed."""
        self._ready.discard(key)

    def cancel(self) -> None:
        """Cancel all tasks; the current one ends with its next step."""
        canceled, self._waiting = [*self._waiting], deque()
        if self._current is not None and not self._current.canceled.is_set():
            self._current.canceled.set()
            self.progress.emit(tr("{task}: canceling", task=self._current.title))
        for task in canceled:
            task.failed()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._current is not None:
                self._current.canceled.set()
        self._waiting.clear()

    def _add(self, task: _Task, *, first: bool = False) -> None:
        self._waiting.insert(0, task) if first else self._waiting.append(task)
        if self._current is None:
            self._next()

    def _next(self) -> None:
        if not self._waiting:
            self._current = None
            self.progress.emit("")
            return
        task = self._current = self._waiting.popleft()
        self.progress.emit(task.title)

        def progress(step: str) -> None:
            if task.canceled.is_set():
                raise JobCanceled
            with self._lock:  # signals of a closed window cannot be emitted
                if not self._closed:
                    self._step.emit(task, step)

        def done(result: Any) -> None:
            task.done(result)
            self._next()

        def failed(exc: Exception) -> None:
            if not isinstance(exc, JobCanceled):
                self.problem.emit(Problem.of(exc, failure=task.failure))
            task.failed()
            self._next()

        self._jobs.run(lambda: task.work(progress), done, failed)

    @Slot(object, str)
    def _on_step(self, task: _Task, step: str) -> None:
        if task is self._current and not task.canceled.is_set():
            said = tr("{task}: {step}", task=task.title, step=tr(_STEPS[step]))
            waiting = len(self._waiting)
            if waiting:
                said = trn("{said} ({n} more)", "{said} ({n} more)", waiting, said=said)
            self.progress.emit(said)
