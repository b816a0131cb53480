"""Paints only the person or only the background: learns the empty scene, or uses a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.engine.config import EngineConfig
from app.engine.matting.files import is_learned, is_network
from app.frame import SourceInfo
from app.options import EVERYTHING, ONLY_PERSON, PAINTED
from app.ui.file_dialogs import OPEN_MATTE
from app.ui.looks.gestures import Gestures
from app.ui.person.countdown import Countdown
from app.ui.person.dialog import PersonDialog
from app.ui.widgets.job_bar import SceneBar
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

SECONDS = 5  # to walk out of the picture
PERSON_ACTIONS = ("paint_part", "step_out", "person")

NOT_PLAYING = mark("Open a camera or a film first: the empty scene is learned while it plays")
LEARNED = mark("The empty scene is learned: step back into the picture")
NOTHING_KNOWN = mark("Step out of the picture once, or open a file, so that people can be found")
BY_SCENE = mark("People are what differs from the empty scene; keep the camera still")


class PersonController(QObject):
    """Connects the actions, the dialog and the session."""

    def __init__(self, context: WindowContext, bar: SceneBar, gestures: Gestures) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._window, self._say, self._dialogs = context.window, context.say, context.dialogs
        self._bar, self._gestures, self._title = bar, gestures, ""
        self.countdown = Countdown(context.viewport)
        self.dialog: PersonDialog | None = None
        self._left = 0
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._count)
        bar.canceled.connect(self.cancel)
        session.learning.connect(self._on_learning)
        session.scene_learned.connect(self._on_learned)
        session.config_changed.connect(self._show_config)
        session.source_changed.connect(self._on_source_changed)

    def act(self, key: str) -> None:
        {"paint_part": self._next_part, "step_out": self.step_out, "person": self._ask}[key]()

    @property
    def counting(self) -> bool:
        """Whether the user has some seconds left to step out of the picture."""
        return self._second.isActive()

    def step_out(self) -> None:
        """Count down, then learn the empty scene; a second call cancels."""
        if self.counting:
            self.cancel()
        elif not self._session.streaming:
            self._say(tr(NOT_PLAYING))
        else:
            self._left = SECONDS
            self._second.start()
            self._show_countdown()

    def cancel(self) -> None:
        """End the countdown, or stop learning."""
        self._second.stop()
        self._left = 0
        self._show_countdown()
        self._session.learn_scene(False)

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._second.stop()
            self._session.learn_scene(True)
        self._show_countdown()

    def _show_countdown(self) -> None:
        self.countdown.show_number(self._left)
        words = tr("Step out of the picture: {n} s", n=self._left) if self._left else ""
        self._bar.show_share(words, 1 - self._left / SECONDS)

    def _on_learning(self, share: float | None) -> None:
        if not self.counting:
            words = "" if share is None else tr("Learning the empty scene")
            self._bar.show_share(words, share or 0.0)

    def _on_learned(self, file: Path) -> None:
        config = self._session.config
        part = ONLY_PERSON if config.paint == EVERYTHING else config.paint
        self._session.config = replace(config, matte=str(file), paint=part)
        self._say(tr(LEARNED))

    def _next_part(self) -> None:
        """Paint the next of all, the person and the background."""
        config, parts = self._session.config, tuple(PAINTED)
        if not config.matte:
            self._ask()
            return
        part = parts[(parts.index(config.paint) + 1) % len(parts)]
        self._session.config = replace(config, paint=part)
        self._say(tr("Painted: {part}", part=tr(PAINTED[part].title)))

    def _ask(self) -> None:
        if self.dialog is None:
            dialog = self.dialog = PersonDialog(self._window)
            dialog.picked.connect(self._pick)
            dialog.step_out.connect(self.step_out)
            dialog.file_wanted.connect(self._ask_file)
            dialog.forget.connect(self._forget)
            self._gestures.watch(dialog.controls["feather"])
        self._show_config(self._session.config)
        self.dialog.bring_up()

    def _pick(self, name: str, value: object) -> None:
        self._session.config = replace(self._session.config, **{name: value})

    def _ask_file(self) -> None:
        self._dialogs.ask(self._window, tr("Find people by a file"), OPEN_MATTE, self.use_file)

    def use_file(self, file: Path) -> None:
        """Find people by a network or a picture of the empty scene."""
        config = self._session.config
        part = ONLY_PERSON if config.paint == EVERYTHING else config.paint
        self._session.config = replace(config, matte=str(file.absolute()), paint=part)

    def _forget(self) -> None:
        self._session.config = replace(self._session.config, matte="", paint=EVERYTHING)

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        """Forget the scene of another source, and stop learning it."""
        title = info.title if info else ""
        if title == self._title:
            return
        self._title = title
        if self.counting:
            self.cancel()
        if is_learned(Path(self._session.config.matte)):
            self._forget()

    def _show_config(self, config: EngineConfig) -> None:
        if self.dialog is not None:
            self.dialog.show_config(config, _how_found(config))


def _how_found(config: EngineConfig) -> str:
    file = Path(config.matte)
    if not config.matte:
        return tr(NOTHING_KNOWN)
    if is_network(file):
        return tr("People are found by the network {name}", name=file.name)
    return tr(BY_SCENE)
