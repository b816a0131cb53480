"""The menu of languages, each under its own name."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu

from app.ui.window_context import WindowContext
from utils.translation.files import available, share
from utils.translation.languages import LANGUAGES, SYSTEM
from utils.translation.numbers import number
from utils.translation.texts import chosen, tr


class LanguageMenu(QMenu):
    """Shows and stores the language; `picked` asks for a window in it."""

    picked = Signal()

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context.window)
        self._run, self._update, self._say = context.session.run, context.keep, context.say
        self._window = context.window
        self.setToolTipsVisible(True)
        group = QActionGroup(self)
        for key in (SYSTEM, *available()):
            made = self.addAction(_title(key))
            made.setToolTip(tr("Show the window in this language"))
            made.setData(key)
            made.setCheckable(True)
            made.setChecked(key == context.settings().language)
            group.addAction(made)
        group.triggered.connect(lambda entry: self._choose(entry.data()))
        context.actions["language"].setMenu(self)

    def pop_up(self) -> None:
        size = self.sizeHint()
        middle = self._window.rect().center() - QPoint(size.width(), size.height()) / 2
        self.popup(self._window.mapToGlobal(middle))

    def _choose(self, key: str) -> None:
        self._update(language=key)
        self.picked.emit()

    def tell_share(self) -> None:
        """Say how many texts are translated, unless all are."""

        def done(translated: float) -> None:
            if translated < 1:
                percent = f"{number(int(100 * translated))} %"
                self._say(
                    tr("{share} of the texts are translated; the rest are English", share=percent)
                )

        language = chosen()
        self._run(lambda: share(language), done, failure="Could not read the translation")


def _title(key: str) -> str:
    return tr("System language") if key == SYSTEM else LANGUAGES[key].title
