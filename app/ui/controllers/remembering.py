"""Asks once whether the next start may open the last source again."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.frame import SourceInfo
from app.settings import ALWAYS, ASK, NEVER
from app.sources import SCENE
from app.sources.address import is_address
from app.sources.camera import is_camera
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

ASK_MS = 15_000
SHOWN_MS = 30_000
_CAMERA, _SOURCE = "wall_camera", "remember_source"  # settings, and actions that show them
QUESTIONS = {
    _SOURCE: mark("Open this again at the next start?"),
    _CAMERA: mark("Open the camera again at the next start?"),
}


class Remembering(QObject):
    """Offers to remember when the user has opened a source of his own for the first time.

    The offer waits for ASK_MS, so that it does not cover the first painting as it appears. After
    SHOWN_MS without an answer it goes, and comes back at the next start.

    Args:
        is_pasted: Tells whether a source is a temporary file.
        camera_asked: Tells whether the user has been asked about the camera.
        covers: Tells whether the offer would cover what the user looks at; then it waits.
    """

    def __init__(
        self,
        context: WindowContext,
        is_pasted: Callable[[str], bool],
        camera_asked: Callable[[], bool],
        covers: Callable[[], bool],
    ) -> None:
        super().__init__(context.window)
        self._context, self._session = context, context.session
        self._is_pasted, self._camera_asked, self._covers = is_pasted, camera_asked, covers
        self._asked: set[str] = set()
        self._open, self._shown = "", False  # the question without an answer
        self._later = QTimer(self, interval=ASK_MS, singleShot=True)
        self._later.timeout.connect(self.update)
        self._gone = QTimer(self, interval=SHOWN_MS, singleShot=True)
        self._gone.timeout.connect(self._put_off)
        context.session.source_changed.connect(self._on_source_changed)
        context.session.styled.connect(lambda _: self.update())

    def settle(self) -> None:
        """Withdraw the questions whose answer is known."""
        for key in sorted(self._asked):
            if self._answer(key) != ASK:
                self._context.notices.withdraw(tr(QUESTIONS[key]))
                self._open = ""

    def update(self) -> None:
        """Show the question where it covers nothing, and hide it elsewhere."""
        if self._later.isActive():
            return
        if self._open and self._shown == self._covers():
            self._shown = not self._shown
            if self._shown:
                self._ask(self._open)
                if not self._gone.isActive():
                    self._gone.start()
            else:
                self._context.notices.withdraw(tr(QUESTIONS[self._open]))

    def _put_off(self) -> None:
        """Withdraw the question without an answer."""
        if self._open:
            self._context.notices.withdraw(tr(QUESTIONS[self._open]))
            self._open = ""

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        key = self._setting() if info is not None else ""
        if key and key not in self._asked and self._answer(key) == ASK:
            self._asked.add(key)
            self._open, self._shown = key, False
            self._later.start()

    def _setting(self) -> str:
        """Return the setting that decides about the open source; "" if no start opens it."""
        spec = self._session.spec
        if not isinstance(spec, str):
            return _SOURCE
        if is_camera(spec):
            return "" if self._camera_asked() else _CAMERA
        return "" if spec == SCENE or is_address(spec) or self._is_pasted(spec) else _SOURCE

    def _answer(self, key: str) -> str:
        settings = self._context.settings()
        return settings.wall_camera if key == _CAMERA else settings.remember_source

    def _ask(self, key: str) -> None:
        self._context.notices.show_offer(
            tr(QUESTIONS[key]),
            tr("&Remember"),
            tr("Open it again at the next start"),
            lambda: self._keep(key, ALWAYS),
            other=(
                tr("Do&n't remember"),
                tr("Start without it, and store no trace of it"),
                lambda: self._keep(key, NEVER),
            ),
            declined=lambda: self._keep(key, NEVER),
        )

    def _keep(self, key: str, answer: str) -> None:
        self._open = ""
        self._context.keep(**{key: answer})
        self._context.actions[key].setChecked(answer == ALWAYS)
