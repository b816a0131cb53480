"""Paints only a part: learns the empty scene, uses a file, or lets the user brush."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.engine.config import EngineConfig
from app.engine.matting.files import (
    MatteError,
    is_learned,
    is_mask,
    is_network,
    is_of_source,
)
from app.engine.matting.source import check_matte
from app.errors import Problem
from app.frame import SourceInfo
from app.options import EVERYTHING, GREEN, ONLY_PERSON, Option, painted_options
from app.ui.file_dialogs import OPEN_MATTE_NETWORK, OPEN_PICTURE, FileKind
from app.ui.looks.gestures import Gestures
from app.ui.person.brushing import BrushController
from app.ui.person.countdown import Countdown
from app.ui.person.dialog import PersonDialog
from app.ui.widgets.job_bar import SceneBar
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

SECONDS = 5  # to walk out of the picture
PERSON_ACTIONS = ("paint_part", "step_out", "person")

NOT_PLAYING = mark("Open a camera or a film first: the empty scene is learned while it plays")
FROM_FILM = mark(
    "Learning the scene from this part of the film. If people are in it, play a part without them, "
    "and learn it again (Shift+Z)"
)
LEARNED = mark("The empty scene is learned: step back into the picture")
NOTHING_KNOWN = mark("Step out of the picture once, so that people can be found")
ANOTHER_SOURCE = mark(
    "The empty scene was of another source, so everything is painted: step out of the picture "
    "again (Shift+Z)"
)
FAILURE = mark("Could not find people by this file")
BY_BRUSH = mark("The brush marks what is painted; the mask belongs to this picture")
BY_SCENE = mark("People are what differs from the empty scene; keep the camera still")


class PersonController(QObject):
    """Connects the actions, the dialog, the brush and the session.

    Signals:
        source_left: Another source has opened, so that a learned scene or a mask is forgotten.
    """

    source_left = Signal()

    def __init__(
        self, context: WindowContext, bar: SceneBar, brushing: BrushController, gestures: Gestures
    ) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._window, self._say, self._dialogs = context.window, context.say, context.dialogs
        self._bar, self._gestures, self._title = bar, gestures, ""
        self._brushing, self._viewport = brushing, context.viewport
        self.countdown = Countdown(context.viewport)
        self.dialog: PersonDialog | None = None
        self._left = self._checks = 0
        self._folded = False  # whether the dialog is hidden, so that the digits are seen
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._count)
        bar.canceled.connect(self.cancel)
        session.learning.connect(self._on_learning)
        session.scene_learned.connect(self._on_learned)
        session.config_changed.connect(self._show_config)
        session.source_changed.connect(self._on_source_changed)
        session.replaced.connect(self._on_replaced)
        brushing.changed.connect(self._show_brush)
        brushing.control.resized.connect(self._show_brush)

    def act(self, key: str) -> None:
        {"paint_part": self._next_part, "step_out": self.step_out, "person": self._ask}[key]()

    @property
    def counting(self) -> bool:
        """Whether the user has some seconds left to step out of the picture."""
        return self._second.isActive()

    def step_out(self) -> None:
        """Count down, then learn the empty scene; a second call cancels.

        A film needs no countdown: nobody steps out of it, and its empty part may be short.
        """
        if self.counting:
            self.cancel()
        elif not self._session.streaming:
            self._refuse(tr(NOT_PLAYING))
        elif self._is_film():
            self._say(tr(FROM_FILM))
            self._session.learn_scene(True)
        else:
            self._fold()
            self._left = SECONDS
            self._second.start()
            self._show_countdown()

    def _is_film(self) -> bool:
        info = self._session.info
        return info is not None and info.duration > 0

    def cancel(self) -> None:
        """End the countdown, or stop learning."""
        self._second.stop()
        self._left = 0
        self._show_countdown()
        self._session.learn_scene(False)
        self._unfold()

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
            if share is None:
                self._unfold()

    def _fold(self) -> None:
        """Hide the dialog while somebody in front of the camera follows the digits."""
        if self.dialog is not None and self.dialog.isVisible():
            self._folded = True
            self.dialog.hide()
            self._window.activateWindow()  # Escape cancels there

    def _unfold(self) -> None:
        if self._folded and self.dialog is not None:
            self._folded = False
            self.dialog.show()

    def _refuse(self, text: str) -> None:
        """Say why a command is refused where the user looks."""
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.state.show_fault(text)
        else:
            self._say(text)

    def _on_learned(self, file: Path) -> None:
        config = self._session.config
        part = ONLY_PERSON if config.paint == EVERYTHING else config.paint
        self._session.config = replace(config, matte=str(file), paint=part)
        if not self._is_film():
            self._say(tr(LEARNED))

    def _next_part(self) -> None:
        """Paint the next of all, the person and the background."""
        config, parts = self._session.config, _parts(self._session.config)
        if not config.matte:
            self._ask()
            return
        keys = tuple(parts)
        part = keys[(keys.index(config.paint) + 1) % len(keys)]
        self._session.config = replace(config, paint=part)
        self._say(tr("Painted: {part}", part=tr(parts[part].title)))

    def _ask(self) -> None:
        if self.dialog is None:
            dialog = self.dialog = PersonDialog(self._window)
            dialog.picked.connect(self._pick)
            dialog.step_out.connect(self.step_out)
            dialog.scene_wanted.connect(self._ask_scene)
            dialog.network_wanted.connect(self._ask_network)
            dialog.forget.connect(self._forget)
            dialog.brush.wanted.connect(self._use_brush)
            dialog.brush.resized.connect(self._resize_brush)
            dialog.brush.cleared.connect(self._brushing.clear)
            self._gestures.watch(dialog.controls["feather"])
        self._show_config(self._session.config)
        self.dialog.bring_up()

    def _pick(self, name: str, value: object) -> None:
        config = replace(self._session.config, **{name: value})
        if name == "rest" and value == GREEN and config.paint == EVERYTHING:
            config = replace(config, paint=ONLY_PERSON)  # otherwise nothing would be green
        self._session.config = config

    def _ask_scene(self) -> None:
        self._ask_file(tr("A picture of the empty scene"), OPEN_PICTURE)

    def _ask_network(self) -> None:
        self._ask_file(tr("A network that finds people"), OPEN_MATTE_NETWORK)

    def _ask_file(self, title: str, kind: FileKind) -> None:
        self._dialogs.ask(self._window, title, kind, self.check_file)

    def check_file(self, file: Path) -> None:
        """Use a file if it fits the picture; otherwise say why not, and keep the choice before."""
        self._checks += 1
        number, styled = self._checks, self._viewport.styled

        def work() -> MatteError | None:
            try:
                check_matte(str(file.absolute()), None if styled is None else styled.source.pixels)
            except MatteError as exc:
                return exc
            return None

        def done(fault: MatteError | None) -> None:
            if number != self._checks:
                return  # the user has chosen another file meanwhile
            if fault is None:
                self.use_file(file)
            elif self.dialog is not None and self.dialog.isVisible():
                self.dialog.state.show_fault(Problem.of(fault, failure=FAILURE).summary)
            else:
                self._session.problem.emit(Problem.of(fault, failure=FAILURE))

        self._session.run(work, done, failure=FAILURE)

    def use_file(self, file: Path) -> None:
        """Find people by a network or a picture of the empty scene."""
        config = self._session.config
        part = ONLY_PERSON if config.paint == EVERYTHING else config.paint
        self._session.config = replace(config, matte=str(file.absolute()), paint=part)

    def _forget(self) -> None:
        self._session.config = self._session.config.without_matte()

    def _on_replaced(self) -> None:
        self._leave_source()
        self._title = ""  # the same source again is another one

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        title = info.title if info else ""
        stepped = info is not None and info.count > 1  # to a picture that may have the same name
        if stepped or title != self._title:
            self._title = title
            self._leave_source()

    def _leave_source(self) -> None:
        """Forget the scene and the mask of another source, and stop making them."""
        if self.counting:
            self.cancel()
        self._brushing.use(on=False, erases=False)
        file = Path(self._session.config.matte)
        if is_of_source(file):
            self._forget()
            if is_learned(file):
                self._say(tr(ANOTHER_SOURCE))
        self.source_left.emit()

    def _show_config(self, config: EngineConfig) -> None:
        if self.dialog is not None:
            self.dialog.show_config(config, _parts(config), _how_found(config))
            self._show_brush()

    def _use_brush(self, erases: bool, on: bool) -> None:
        self._brushing.use(on=on, erases=erases)

    def _resize_brush(self, radius: float) -> None:
        self._brushing.control.radius = radius

    def _show_brush(self) -> None:
        if self.dialog is not None:
            control, masked = self._brushing.control, is_mask(Path(self._session.config.matte))
            row = self.dialog.brush
            row.show_tool(on=control.open, erases=control.erases, radius=control.radius)
            row.show_available(self._brushing.refusal, masked=masked)


def _parts(config: EngineConfig) -> dict[str, Option]:
    return painted_options(masked=is_mask(Path(config.matte)), swapped=config.swap_matte)


def _how_found(config: EngineConfig) -> str:
    file = Path(config.matte)
    if not config.matte:
        return tr(NOTHING_KNOWN)
    if is_network(file):
        return tr("People are found by the network {name}", name=file.name)
    return tr(BY_BRUSH if is_mask(file) else BY_SCENE)
