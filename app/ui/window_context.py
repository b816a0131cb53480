"""The parts of the main window that its controllers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QWidget

from app.engine.result import StyledFrame
from app.live.session import Session
from app.settings import Settings
from app.ui.file_dialogs import FileDialogs, FileKind
from app.ui.viewport.viewport import Viewport
from app.ui.widgets.question_card import QuestionCard
from app.ui.widgets.toasts import NoticeToast
from utils.translation.texts import mark, tr

NO_PICTURE = mark("There is no picture yet")


@dataclass(frozen=True, slots=True)
class WindowContext:
    """The session, the picture, the settings, and the ways to ask and to tell the user.

    Attributes:
        window: Owns dialogs and menus, and receives drags.
        actions: The window's actions by key.
        settings: Returns the current settings.
        keep: Changes settings, given by name, and saves them.
    """

    window: QWidget
    session: Session
    viewport: Viewport
    actions: Mapping[str, QAction]
    settings: Callable[[], Settings]
    keep: Callable[..., None]
    dialogs: FileDialogs
    questions: QuestionCard
    notices: NoticeToast

    def say(self, text: str) -> None:
        """Show a notice."""
        self.notices.show_notice(text)

    def ask_source(self, title: str, kind: FileKind, mode: QFileDialog.FileMode) -> None:
        """Ask for a source, and open it; several pictures open as a strip."""

        def chosen(names: list[str]) -> None:
            self.session.open(names[0] if len(names) == 1 else names)

        self.dialogs.dialog(self.window, title, kind, mode, chosen).open()

    def styled(self) -> StyledFrame | None:
        """Return the result on screen; None before the first."""
        return self.viewport.styled

    def styled_or_notice(self) -> StyledFrame | None:
        """Return the result on screen; before the first, tell the user that there is none."""
        styled = self.viewport.styled
        if styled is None:
            self.say(tr(NO_PICTURE))
        return styled
