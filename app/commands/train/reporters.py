"""Reporters of training progress: in the terminal, as plain lines, or as JSON lines."""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app.commands.reporting import Display, JsonLines, print_line
from models.training.run import StepLosses
from models.training.trainer import Progress
from utils.text import clock

SECONDS_BETWEEN_LINES = 5.0


class Reporter(Display):
    """A receiver of a run's events, open during the run."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Report one sentence that should stay visible."""

    @abstractmethod
    def loading(self, what: str, done: int, total: int) -> None:
        """Report that `done` of `total` (0: unknown) files or bytes of `what` are loaded."""

    def whole_file_needed(self, reason: str) -> None:
        """Report to a program why VGG-19's layers cannot be downloaded alone; an error follows."""

    def resumed(self, iteration: int, history: Sequence[StepLosses]) -> None:
        """Report that the run resumes from `iteration`; `history` has the losses up to there."""
        self.note(f"Resuming from iteration {iteration}")

    @abstractmethod
    def progress(self, progress: Progress, preview: Path | None) -> None:
        """Report the progress; `preview` is the file of the newest preview."""

    def impression(self, preview: Path | None) -> None:
        """Report to a program a preview that was made before training."""

    def estimate(self, seconds_per_iteration: float, iterations: int, device: str) -> None:
        """Report the measured time per iteration on `device`."""
        whole = clock(round(seconds_per_iteration * iterations))
        self.note(
            f"{iterations} iterations would take {whole} on {device}: "
            f"{seconds_per_iteration:.3g} s each, measured"
        )

    def finished(self, result: Path, seconds: float) -> None:
        """Report that the style is written to `result`."""
        self.note(f"Written to {result} after {clock(round(seconds))} of training")


class LineReporter(Reporter):
    """A reporter that prints a plain line every few seconds, for logs."""

    def __init__(self) -> None:
        self._next = 0.0

    def note(self, text: str) -> None:
        print_line(text)

    def loading(self, what: str, done: int, total: int) -> None:
        """Print the count every few seconds and at the end."""
        if self._due() or done == total:
            print_line(f"{what}: {_count_text(done, total)}")

    def progress(self, progress: Progress, preview: Path | None) -> None:
        """Print the progress every few seconds and at the end."""
        if self._due() or progress.iteration == progress.total:
            shown = f"  {preview}" if preview and progress.preview is not None else ""
            print_line(progress_text(progress) + shown)

    def _due(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + SECONDS_BETWEEN_LINES
        return True


class JsonReporter(JsonLines, Reporter):
    """A reporter that prints one JSON object per line.

    Its "event" is note, loading, whole_file_needed, impression, estimate,
    resumed, progress or finished.
    """

    def loading(self, what: str, done: int, total: int) -> None:
        self.emit("loading", what=what, done=done, total=total)

    def whole_file_needed(self, reason: str) -> None:
        self.emit("whole_file_needed", reason=reason)

    def impression(self, preview: Path | None) -> None:
        if preview is not None:
            self.emit("impression", preview=str(preview))

    def resumed(self, iteration: int, history: Sequence[StepLosses]) -> None:
        super().resumed(iteration, history)
        self.emit("resumed", iteration=iteration, history=[list(reading) for reading in history])

    def progress(self, progress: Progress, preview: Path | None) -> None:
        values = asdict(progress)
        values["preview"] = str(preview) if preview and progress.preview is not None else None
        self.emit("progress", **values)

    def estimate(self, seconds_per_iteration: float, iterations: int, device: str) -> None:
        self.emit(
            "estimate",
            seconds_per_iteration=seconds_per_iteration,
            iterations=iterations,
            seconds=seconds_per_iteration * iterations,
            device=device,
        )

    def finished(self, result: Path, seconds: float) -> None:
        self.emit("finished", result=str(result), seconds=round(seconds, 1))


class TerminalReporter(Reporter):
    """A reporter with progress bars in the terminal."""

    def __init__(self) -> None:
        # Imported here, because training without a terminal does not need rich.
        from rich import progress
        from rich.table import Column

        self._preview = ""
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=20),
            progress.TextColumn(
                "{task.fields[news]}", markup=False, table_column=Column(no_wrap=False)
            ),
        )
        self._tasks: dict[str, progress.TaskID] = {}

    def open(self) -> None:
        self._bars.start()

    def close(self) -> None:
        self._bars.stop()

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def loading(self, what: str, done: int, total: int) -> None:
        self._show(what, done, total, _count_text(done, total))

    def progress(self, progress: Progress, preview: Path | None) -> None:
        if preview and progress.preview is not None and str(preview) != self._preview:
            self._preview = str(preview)
            self.note(f"Preview: {preview}")
        self._show("Training", progress.iteration, progress.total, progress_text(progress))

    def _show(self, what: str, done: int, total: int, text: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, news="")
        self._bars.update(self._tasks[what], completed=done, total=total or None, news=text)


def make_reporter(*, as_json: bool) -> Reporter:
    """Return a JSON reporter if `as_json`, a display for a terminal, plain lines otherwise."""
    if as_json:
        return JsonReporter()
    return TerminalReporter() if sys.stdout.isatty() else LineReporter()


def progress_text(progress: Progress) -> str:
    """Format like "500/10000  loss 0.79 (content 0.51, style 0.14)  48.1 it/s, 3:20 left"."""
    return (
        f"{progress.iteration}/{progress.total}  "
        f"loss {progress.loss:.3f} (content {progress.content:.3f}, style {progress.style:.3f})  "
        f"{progress.per_second:.1f} it/s, {clock(round(progress.seconds_left))} left"
    )


def _count_text(done: int, total: int) -> str:
    return f"{done} of {total}" if total else str(done)
