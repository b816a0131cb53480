"""The training process: its command line, and its events as values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.processes.command_process import CommandProcess
from app.training.events import history_from, loading_text, losses_from, progress_from
from app.training.run_store import RunDirectory

LOADING_INTERVAL_S = 0.1  # between updates while loading
AS_CHILD = ("--json-progress", "--listen")  # flags of a process that talks to the program


class TrainingProcess(CommandProcess):
    """A process that trains a run, or measures how long that takes; one at a time."""

    note_received = Signal(str)  # a sentence
    # Name of the loading step, and its share (0 to 1; None if unknown).
    loading = Signal(str, object)
    estimated = Signal(object)  # the event
    resumed = Signal(object)  # list[LossPoint] up to the checkpoint
    losses_received = Signal(object)  # LossPoint
    preview_saved = Signal(object)  # Path
    progressed = Signal(object)  # TrainingProgress

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.whole_file_reason = ""  # why VGG-19's first layers cannot be downloaded alone
        self._vgg_download = "layers"
        self._loading_shown_at = 0.0
        self.event_received.connect(self._on_event)

    def allow_whole_file(self) -> None:
        """Download VGG-19's whole file from now on, if it has to be downloaded."""
        self._vgg_download = "whole"

    def work_on(self, run: RunDirectory, *flags: str) -> None:
        self.whole_file_reason = ""
        arguments = run.arguments(*flags, "--vgg-download", self._vgg_download)
        self.start([*arguments, *AS_CHILD])

    def _on_event(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "note":
            self.note_received.emit(str(event["text"]))
        elif kind == "loading":
            self._show_loading(str(event["what"]), int(event["done"]), int(event["total"]))
        elif kind == "whole_file_needed":
            self.whole_file_reason = str(event["reason"])
        elif kind == "impression":
            self.preview_saved.emit(Path(str(event["preview"])))
        elif kind == "estimate":
            self.estimated.emit(event)
        elif kind == "resumed":
            self.resumed.emit(history_from(event))
        elif kind == "progress":
            self.losses_received.emit(losses_from(event))
            self.progressed.emit(progress_from(event))
            if event.get("preview"):  # after its step was reported
                self.preview_saved.emit(Path(str(event["preview"])))

    def _show_loading(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done != total and now - self._loading_shown_at < LOADING_INTERVAL_S:
            return
        self._loading_shown_at = now
        self.loading.emit(loading_text(what, done, total), done / total if total else None)
