"""A log file of bounded size for log messages and uncaught exceptions."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from types import TracebackType

import platformdirs

from app.diagnostics.privacy import without_home
from app.settings import APP_NAME
from app.version import styleforge_version
from utils.translation.texts import defer

MAX_BYTES = 1 << 20  # bytes per file
OLD_FILES = 2  # older files next to it, named with ".1" and ".2"
FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"

log = logging.getLogger(__name__)


def log_path() -> Path:
    """Return the path of the newest log file; its folder may not exist yet."""
    return platformdirs.user_log_path(APP_NAME, appauthor=False) / "styleforge.log"


@contextmanager
def logging_to(path: Path, complain: Callable[[str], object]) -> Iterator[None]:
    """Write the log of this process to a file, on a separate thread, while the context lasts.

    "~" replaces the home folder. Warnings also go to stderr, as they do without a file.

    Args:
        path: The file; new lines are appended.
        complain: Called with one sentence, not yet translated, if the file cannot be written; there
            is no log then.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # messages contain names of the user's files
        file = RotatingFileHandler(path, "a", MAX_BYTES, OLD_FILES, "utf-8", errors="replace")
    except OSError as exc:
        complain(
            defer(
                "There is no log: '{path}' cannot be written: {reason}",
                path=path,
                reason=exc.strerror or exc,
            )
        )
        yield
        return
    file.setFormatter(_HomelessFormatter(FORMAT))
    records: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    listener = QueueListener(records, file)
    stderr = logging.StreamHandler()
    stderr.setLevel(logging.WARNING)
    # the hooks below print these exceptions
    stderr.addFilter(lambda record: record.name != __name__)
    handlers: tuple[logging.Handler, ...] = (_UnformattedHandler(records), stderr)
    root = logging.getLogger()
    level, hooks = root.level, (sys.excepthook, threading.excepthook)
    listener.start()
    try:
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(logging.INFO)
        sys.excepthook, threading.excepthook = _logged(hooks[0]), _logged_of_thread(hooks[1])
        log.info("StyleForge %s, Python %s", styleforge_version(), sys.version.split()[0])
        yield
    finally:
        sys.excepthook, threading.excepthook = hooks
        root.setLevel(level)
        for handler in handlers:
            root.removeHandler(handler)
        listener.stop()
        file.close()


def last_lines(path: Path, count: int) -> list[str]:
    """Return the last lines of a log, continuing in the previous file; none without a log.

    Args:
        count: Maximum number of lines.

    Raises:
        OSError: If a file cannot be read.
    """
    lines: list[str] = []
    for file in (path.with_name(f"{path.name}.1"), path):
        if file.exists():
            lines += file.read_text("utf-8", "replace").splitlines()
    return lines[-count:]


class _UnformattedHandler(QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Leave formatting to the listener's thread, because a traceback reads source files."""
        return record


class _HomelessFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_home(super().format(record))


def _logged(
    hook: Callable[[type[BaseException], BaseException, TracebackType | None], object],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def log_it(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
        log.critical("uncaught exception", exc_info=(kind, exc, trace))
        hook(kind, exc, trace)

    return log_it


def _logged_of_thread(
    hook: Callable[[threading.ExceptHookArgs], object],
) -> Callable[[threading.ExceptHookArgs], None]:
    def log_it(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            info = args.exc_type, args.exc_value, args.exc_traceback
            log.critical("uncaught exception of a thread", exc_info=info)
        hook(args)

    return log_it
