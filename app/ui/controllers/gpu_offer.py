"""Offers what brings a GPU into use: the PyTorch build for an NVIDIA card, or another try."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication

from app.background_jobs import RunJob
from app.ui.widgets.toasts import NoticeToast
from app.unused_gpu import SENTENCE, has_unused_gpu, mending_command
from utils.translation.texts import tr


def offer_failed_gpu(sentence: str, notices: NoticeToast, try_again: Callable[[], object]) -> None:
    """Show why a GPU failed, with a button that tries it again."""
    notices.show_offer(
        sentence,
        tr("&Try again"),
        tr("Let the GPU paint again (its driver may have started anew)"),
        try_again,
    )


def look_for_unused_gpu(run: RunJob, notices: NoticeToast) -> None:
    """Ask the NVIDIA driver in the background; if its card is unused, offer a remedy.

    The command is copied, not run: it replaces files that this process has loaded.
    """

    def ask() -> str:
        return mending_command() if has_unused_gpu() else ""

    def offer(command: str) -> None:
        if command:
            notices.show_offer(
                tr(
                    "{sentence}. Close StyleForge and run in a terminal: {command}",
                    sentence=tr(SENTENCE),
                    command=command,
                ),
                tr("&Copy command"),
                tr("Copy the command, to paste it into a terminal"),
                lambda: copy(command),
            )

    def copy(command: str) -> None:
        QGuiApplication.clipboard().setText(command)
        notices.show_notice(tr("Copied: {command}", command=command))

    run(ask, offer, failure="Could not look for an NVIDIA card")
