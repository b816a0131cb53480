"""The menu of languages, each under its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from utils.translation.files import available, share
from utils.translation.joints import sentences
from utils.translation.languages import LANGUAGES, SYSTEM
from utils.translation.numbers import number
from utils.translation.texts import tr


class LanguageMenu(QMenu):
    """Shows and stores the language, which applies from the next start.

    Args:
        action: The entry of the main menu that opens this menu.
        choice: The setting `language`.
        run: Runs a job: `run(work, done, failure=...)`.
        update: Stores the setting: `update(language=...)`.
        say: Shows a notice.
    """

    def __init__(
        self,
        action: QAction,
        choice: str,
        run: Callable[..., Any],
        update: Callable[..., Any],
        say: Callable[[str], None],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._run, self._update, self._say = run, update, say
        self._window = window
        self.setToolTipsVisible(True)
        group = QActionGroup(self)
        for key in (SYSTEM, *available()):
            made = self.addAction(_title(key))
            made.setToolTip(tr("Use this language from the next start"))
            made.setData(key)
            made.setCheckable(True)
            made.setChecked(key == choice)
            group.addAction(made)
        group.triggered.connect(lambda chosen: self._choose(chosen.data()))
        action.setMenu(self)

    def pop_up(self) -> None:
        size = self.sizeHint()
        middle = self._window.rect().center() - QPoint(size.width(), size.height()) / 2
        self.popup(self._window.mapToGlobal(middle))

    def _choose(self, key: str) -> None:
        self._update(language=key)

        def done(translated: float) -> None:
            said = tr("The language changes when StyleForge starts again")
            if translated < 1:
                percent = f"{number(int(100 * translated))} %"
                said = sentences(
                    said,
                    tr("{share} of the texts are translated; the rest are English", share=percent),
                )
            self._say(said)

        work = (lambda: 1.0) if key == SYSTEM else (lambda: share(key))
        self._run(work, done, failure="Could not read the translation")


def _title(key: str) -> str:
    return tr("System language") if key == SYSTEM else LANGUAGES[key].title
