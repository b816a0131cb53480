"""Undo and redo of choices: follows the session's config and updates both actions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt

from app.engine.config import EngineConfig
from app.engine.matting.files import is_of_source
from app.ui.actions import set_available, tip_of
from app.ui.looks.gestures import Gestures
from app.ui.looks.history import History
from app.ui.window_context import WindowContext
from utils.translation.texts import tr


class UndoController(QObject):
    """Records changes of the session's config; all changes while the slideshow plays are one."""

    def __init__(self, context: WindowContext, gestures: Gestures) -> None:
        super().__init__(context.window)
        session, actions = context.session, context.actions
        self._session, self._gestures, self._say = session, gestures, context.say
        self._undo, self._redo = actions["undo"], actions["redo"]
        self._slideshow = actions["slideshow"]
        self.history = History(session.config)
        # Queued, since a style half faded in when the show stops is shown alone first.
        self._slideshow.toggled.connect(self._record_now, Qt.ConnectionType.QueuedConnection)
        session.config_changed.connect(self._record)
        session.config_refused.connect(self._refuse)
        session.styles_changed.connect(self._keep_styles)
        self._show()

    def take(self, history: History) -> None:
        """Undo and redo what another window recorded up to the same config."""
        self.history = history
        self._show()

    def undo(self) -> None:
        self._record_now()
        title = self.history.undo_title
        self._use(self.history.undo())
        if title:
            self._say(tr("Undone: {change}", change=title))

    def redo(self) -> None:
        title = self.history.redo_title
        self._use(self.history.redo())
        if title:
            self._say(tr("Done again: {change}", change=title))

    def forget_source(self) -> None:
        """Undo no change to a learned scene or a mask of a source that is left."""
        self.history.forget_mattes(lambda file: is_of_source(Path(file)))
        self._show()

    def _use(self, config: EngineConfig) -> None:
        self._session.config = replace(config, compare=self._session.config.compare)
        self._show()

    def _record_now(self) -> None:
        self._record(self._session.config)

    def _record(self, config: EngineConfig) -> None:
        if self._slideshow.isChecked():
            return
        self.history.record(config, self._gestures.current)
        self._show()

    def _refuse(self, returned: EngineConfig) -> None:
        self.history.refuse(returned)
        self._show()

    def _keep_styles(self) -> None:
        self.history.keep_styles(self._session.catalog.titles.keys())
        self._show()

    def _show(self) -> None:
        history = self.history
        for action, key, title, words, alone, nothing in (
            (
                self._undo,
                "undo",
                history.undo_title,
                tr("Undo {change}", change=history.undo_title),
                tr("Undo"),
                tr("There is nothing to undo"),
            ),
            (
                self._redo,
                "redo",
                history.redo_title,
                tr("Redo {change}", change=history.redo_title),
                tr("Redo"),
                tr("There is nothing to redo"),
            ),
        ):
            action.setText(words if title else alone)
            set_available(action, tip_of(key), "" if title else nothing)
