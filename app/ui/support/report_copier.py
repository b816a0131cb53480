"""Copies a fault report to the clipboard."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.diagnostics.report_process import ReportError, make_report
from app.errors import Problem
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

COLLECTING = mark("Checking this machine for the report; this takes a few seconds")
COPIED = mark(
    "The report is on the clipboard: this machine, the settings and the last "
    "messages, without names of your files. Paste it where you ask for help"
)


class ReportCopier(QObject):
    """Creates reports in the background, with saved settings; `action` is off meanwhile."""

    def __init__(
        self,
        context: WindowContext,
        save_settings: Callable[[], object],
        show_problem: Callable[[Problem], object],
    ) -> None:
        self._action = context.actions["copy_report"]
        super().__init__(self._action)
        self._run, self._save_settings = context.session.run, save_settings
        self._show_notice, self._show_problem = context.say, show_problem

    def copy(self) -> None:
        self._action.setEnabled(False)
        self._show_notice(tr(COLLECTING))
        self._save_settings()
        self._run(_report, self._done, failure="Could not make a report")

    def _done(self, made: str | Problem) -> None:
        self._action.setEnabled(True)
        if isinstance(made, Problem):
            self._show_problem(made)
        else:
            QGuiApplication.clipboard().setText(made)
            self._show_notice(tr(COPIED))


def _report() -> str | Problem:
    try:
        return make_report()
    except (ReportError, OSError) as exc:
        return Problem.of(exc, failure="Could not make a report")
