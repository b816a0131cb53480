"""Runs `styleforge train` in a process of its own, and tells what it says.

Whatever happens there, a crash or the end of its memory, stays there and becomes an Ending.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

import app

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where `-m` finds the program
STOPPED = 128 + 2  # the exit status of a run that was asked to stop
KEPT_LINES = 200  # of what the process wrote last, for "Copy details"
PREFIX = "styleforge: "  # of the sentence the program ends with


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended: `how` is "done", "stopped" or "failed"; of a failure, `sentence`
    says why and `details` is what it wrote last."""

    how: str
    sentence: str = ""
    details: str = ""


class TrainingProcess(QObject):
    """One process at a time. `said(event)` is one JSON object of --json-progress; `ended` comes
    exactly once for every `start`."""

    said = Signal(object)  # dict
    ended = Signal(object)  # Ending

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._errors: list[str] = []
        self._asked_to_stop = False
        self._killer = QTimer(self, singleShot=True)
        self._killer.timeout.connect(self.kill)

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self, arguments: list[str]) -> None:
        """Run `styleforge` with `arguments`, at a lower priority than the live picture."""
        assert self._process is None, "one process at a time"
        self._errors, self._asked_to_stop = [], False
        process = self._process = QProcess(self)
        process.setProgram(sys.executable)
        process.setArguments(["-m", app.__name__, *arguments, "--json-progress", "--listen"])
        process.setWorkingDirectory(str(ROOT))
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUTF8", "1")  # its words are read as UTF-8, whatever the locale
        process.setProcessEnvironment(environment)
        process.started.connect(self._yield_to_the_picture)
        process.readyReadStandardOutput.connect(self._read_events)
        process.readyReadStandardError.connect(self._read_errors)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._not_started)
        process.start()

    def stop(self, patience_ms: int | None = None) -> None:
        """Ask it to keep what it learned and end, by a line on its stdin, which works on every
        system; if given, kill it `patience_ms` later."""
        if self._process is None:
            return
        if not self._asked_to_stop:
            self._asked_to_stop = True
            self._process.write(b"stop\n")
            self._process.closeWriteChannel()
        if patience_ms is not None:
            self._killer.start(patience_ms)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._asked_to_stop = True
            self._process.kill()

    def close(self, patience_ms: int) -> None:
        """End it before the program does, waiting at most `patience_ms` for it to keep what it
        learned. Blocks; nothing is told any more."""
        process = self._process
        if process is None:
            return
        self.stop()
        self._killer.stop()
        self._process = None  # whatever it says now is heard by nobody
        if not process.waitForFinished(patience_ms):
            process.kill()
            process.waitForFinished(2000)

    def _yield_to_the_picture(self) -> None:
        if self._process is None:
            return
        try:
            nice = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 5)  # Windows has classes
            psutil.Process(self._process.processId()).nice(nice)
        except psutil.Error as exc:  # it is gone already, or may not be slowed: no harm
            log.info("the priority of the training process stays as it is: %s", exc)

    def _read_events(self) -> None:
        while self._process is not None and self._process.canReadLine():
            self._tell(bytes(self._process.readLine().data()))

    def _tell(self, line: bytes) -> None:
        try:
            event: Any = json.loads(line)
        except ValueError:
            self._errors.append(line.decode(errors="replace").rstrip())
            return
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            self.said.emit(event)

    def _read_errors(self) -> None:
        if self._process is None:
            return
        self._process.setReadChannel(QProcess.ProcessChannel.StandardError)
        while self._process.canReadLine():
            text = bytes(self._process.readLine().data()).decode(errors="replace")
            self._errors.append(text.rstrip())
        self._process.setReadChannel(QProcess.ProcessChannel.StandardOutput)
        del self._errors[:-KEPT_LINES]

    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        process = self._process
        if process is None:
            return
        self._read_events()
        self._read_errors()
        rest = bytes(process.readAllStandardError().data()).decode(errors="replace")
        self._errors += rest.splitlines()
        self._end(self._judge(code, crashed=status == QProcess.ExitStatus.CrashExit))

    def _judge(self, code: int, *, crashed: bool) -> ProcessExit:
        if self._asked_to_stop and (crashed or code == STOPPED):
            return ProcessExit("stopped")
        if not crashed and code == 0:
            return ProcessExit("done")
        if not crashed and code == STOPPED:
            return ProcessExit("stopped")
        details = "\n".join(self._errors)
        told = [line[len(PREFIX) :] for line in self._errors if line.startswith(PREFIX)]
        if told and not crashed:
            return ProcessExit("failed", told[-1], details)
        if crashed and code in (9, 0, 1):  # killed; Windows has no signals
            why = "the system ended the training process, most likely for want of memory"
        elif crashed:
            why = f"the training process crashed (signal {code})"
        else:
            last = next((line for line in reversed(self._errors) if line.strip()), "")
            why = f"the training process failed: {last}" if last else f"it ended with {code}"
        return ProcessExit("failed", why, details)

    def _not_started(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            why = self._process.errorString()
            self._end(ProcessExit("failed", f"the training process could not be started: {why}"))

    def _end(self, ending: ProcessExit) -> None:
        process, self._process = self._process, None
        self._killer.stop()
        if process is not None:
            process.deleteLater()
        self.ended.emit(ending)
