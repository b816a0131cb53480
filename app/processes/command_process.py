"""A separate process that runs one of our commands and emits its events.

A crash, or a lack of memory, affects only that process and becomes a ProcessExit.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

import app
from app.processes import language
from utils.files import small_json
from utils.translation.texts import tr

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where `python -m` finds the program
STOPPED = 128 + 2  # exit status of a run stopped by request
KEPT_LINES = 200  # last output lines of the process, for "Copy details"
PREFIX = "styleforge: "  # prefix of the program's error message


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended.

    Attributes:
        outcome: "done", "stopped" or "failed".
        reason: why it failed, in one sentence.
        details: the last output of a failed process.
        crashed: whether it failed because it crashed or was killed.
    """

    outcome: str
    reason: str = ""
    details: str = ""
    crashed: bool = False


class CommandProcess(QObject):
    """A runner for one process at a time, whose English `name` is for messages.

    The command prints a JSON object with an "event" per line, which `event_received` passes on. It
    stops at an unknown line on its stdin, or at the end of stdin. `exited(ProcessExit)` is emitted
    exactly once after every `start`.
    """

    event_received = Signal(object)  # dict
    exited = Signal(object)  # ProcessExit

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._errors: list[str] = []
        self._stop_requested = False
        self._killer = QTimer(self, singleShot=True)
        self._killer.timeout.connect(self.kill)

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self, arguments: list[str]) -> None:
        """Run `styleforge` with `arguments`, at a lower priority than the live stream."""
        assert self._process is None, "one process at a time"
        self._errors, self._stop_requested = [], False
        process = self._process = QProcess(self)
        process.setProgram(sys.executable)
        process.setArguments(["-m", app.__name__, *arguments])
        process.setWorkingDirectory(str(ROOT))
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUTF8", "1")  # its output is read as UTF-8, whatever the locale
        for name, value in language.told().items():  # the window shows its error messages
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        process.started.connect(self._lower_priority)
        process.readyReadStandardOutput.connect(self._read_events)
        process.readyReadStandardError.connect(self._read_errors)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._not_started)
        process.start()

    def send(self, word: str) -> None:
        if self._process is not None and not self._stop_requested:
            self._process.write(f"{word}\n".encode())

    def stop(self, kill_after_ms: int | None = None) -> None:
        """Ask the process, by stdin, to save and end; kill it after `kill_after_ms`, if given."""
        if self._process is None:
            return
        if not self._stop_requested:
            self._stop_requested = True
            self._process.write(b"stop\n")
            self._process.closeWriteChannel()
        if kill_after_ms is not None:
            self._killer.start(kill_after_ms)

    def kill(self) -> None:
        if self._process is not None:
            self._stop_requested = True
            self._process.kill()

    def close(self, timeout_ms: int) -> None:
        """End the process before the program ends; nothing is emitted afterwards.

        It may block for `timeout_ms` while the process saves its results.
        """
        process = self._process
        if process is None:
            return
        self.stop()
        self._killer.stop()
        self._process = None  # ignore its remaining events
        if not process.waitForFinished(timeout_ms):
            process.kill()
            process.waitForFinished(2000)

    def _lower_priority(self) -> None:
        if self._process is None:
            return
        try:
            nice = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 5)  # on Windows a priority class
            psutil.Process(self._process.processId()).nice(nice)
        except psutil.Error as exc:  # it has ended, or the priority may not be changed: ignore
            log.info("the priority of a child process stays as it is: %s", exc)

    def _read_events(self) -> None:
        while self._process is not None and self._process.canReadLine():
            self._parse_line(bytes(self._process.readLine().data()))

    def _parse_line(self, line: bytes) -> None:
        try:
            event: Any = small_json.loads(line)
        except small_json.SmallJsonError:
            self._errors.append(line.decode(errors="replace").rstrip())
            return
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            self.event_received.emit(event)

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
        self._emit_exit(self._classify_exit(code, crashed=status == QProcess.ExitStatus.CrashExit))

    def _classify_exit(self, code: int, *, crashed: bool) -> ProcessExit:
        if self._stop_requested and (crashed or code == STOPPED):
            return ProcessExit("stopped")
        if not crashed and code == 0:
            return ProcessExit("done")
        if not crashed and code == STOPPED:
            return ProcessExit("stopped")
        details = "\n".join(self._errors)
        messages = [line[len(PREFIX) :] for line in self._errors if line.startswith(PREFIX)]
        if messages and not crashed:
            return ProcessExit("failed", messages[-1], details)
        if crashed and code in (9, 0, 1):  # killed; Windows has no signals
            why = tr("the system killed the process, probably because memory ran out")
        elif crashed:
            why = tr("the process crashed (signal {number})", number=code)
        else:
            last = next((line for line in reversed(self._errors) if line.strip()), "")
            why = tr("it ended with {status}", status=code)
            if last:
                why = tr("the process failed: {error}", error=last)
        return ProcessExit("failed", why, details, crashed)

    def _not_started(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            why = tr("the process could not be started: {error}", error=self._process.errorString())
            self._emit_exit(ProcessExit("failed", why))

    def _emit_exit(self, exit: ProcessExit) -> None:
        process, self._process = self._process, None
        self._killer.stop()
        if process is not None:
            process.deleteLater()
        self.exited.emit(exit)
