"""Applies the user's camera settings, and shows on the picture when it is not live."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.frame import SourceInfo
from app.sources.camera import find_camera, is_camera, list_cameras, parse_spec
from app.sources.camera_modes.offers import Offers, offers_of
from app.ui.camera.dialog import NETWORK, NO_CAMERA, CameraModeDialog
from app.ui.theme.tokens import SPACE
from app.ui.viewport.picture_cover import PictureCover
from app.ui.viewport.text_painting import draw_pill, pill_size, scaled, smooth_painter
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

FROZEN = mark("Frozen: you can still change styles and settings (Space continues)")
PAUSED = mark("Paused (Space continues)")
LOST = mark("No new pictures arrive: this is the last one")
DIMMED = QColor(12, 13, 15, 150)


class CameraController(QObject):
    """Connects the camera's settings and the session; owns the message on the picture.

    Args:
        offers: Returns a camera's options by its name; called on another thread.
    """

    def __init__(
        self, context: WindowContext, offers: Callable[[str], Offers] | None = None
    ) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._pause, self._window = context.actions["pause"], context.window
        self._offers_of = offers or _offers
        self._offers: tuple[str, Offers] | None = None  # the camera's name and its options
        self._exposure: float | None = None
        self._title = ""
        self._fault = ""
        self._live = self._rests = False
        self.held = HeldPicture(context.viewport)
        self.dialog: CameraModeDialog | None = None
        session.source_changed.connect(self._on_source_changed)
        session.source_status.connect(self._on_status)
        session.paused_changed.connect(lambda _: self._show_held())
        session.rests_changed.connect(self._on_rests)

    def ask(self) -> None:
        if self.dialog is None:
            self.dialog = CameraModeDialog(self._window)
            self.dialog.mode_picked.connect(self._pick_mode)
            self.dialog.exposure_picked.connect(self._pick_exposure)
        self._refresh()
        self.dialog.bring_up()

    @property
    def _camera(self) -> bool:
        """Whether a local camera is open."""
        spec = self._session.spec
        return self._session.info is not None and isinstance(spec, str) and is_camera(spec)

    def _pick_mode(self, width: int, height: int, fps: float) -> None:
        self._session.set_camera_mode(width, height, fps)
        self._refresh()

    def _pick_exposure(self, stops: float | None) -> None:
        self._exposure = stops
        self._session.set_exposure(stops)

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        single = info is not None and not info.duration and info.count == 1
        live = single and not self._session.still
        if (info.title if info else "") != self._title:
            self._title, self._exposure = info.title if info else "", None
        if live != self._live:
            self._live = live
            self._pause.setText(tr("Freeze") if live else tr("Pause"))
        self._refresh()
        self._show_held()

    def _on_status(self, status: str) -> None:
        self._fault = status
        self._show_held()

    def _on_rests(self, rests: bool) -> None:
        """Say nothing while the machine does other work: the user did not freeze the picture."""
        self._rests = rests
        self._show_held()

    def _show_held(self) -> None:
        info = self._session.info
        text = ""
        if self._live and self._fault:  # for a folder, the fault is a skipped picture
            text = tr(LOST)  # a message tells why
        elif self._rests or info is None or not self._session.paused:
            pass
        elif self._live or info.duration:
            text = tr(FROZEN if self._live else PAUSED)
        self.held.show_text(text, dimmed=text == tr(LOST))

    def _refresh(self) -> None:
        if self.dialog is None:
            return
        self.dialog.show_source(self._session.info if self._live else None)
        self.dialog.show_exposure(self._exposure)
        if not self._camera:
            self.dialog.show_none(tr(NETWORK if self._live else NO_CAMERA))
        elif self._offers is None or self._offers[0] != self._title:
            self._look_up(self._title)
        else:
            _, mode = parse_spec(str(self._session.spec))
            self.dialog.show_camera(mode, self._offers[1])

    def _look_up(self, name: str) -> None:
        def done(offers: Offers) -> None:
            self._offers = name, offers
            if name == self._title:
                self._refresh()

        failure = tr("Could not read the sizes of the camera")
        self._session.run(lambda: self._offers_of(name), done, failure=failure)


def _offers(name: str) -> Offers:
    return offers_of(find_camera(name, list_cameras()).index)


class HeldPicture(PictureCover):
    """Covers the picture while it shows a message."""

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture, tr("Why the picture stands still"))
        self._dimmed = False

    @property
    def dimmed(self) -> bool:
        return self._dimmed

    def show_text(self, text: str, *, dimmed: bool) -> None:
        """Show why the picture stands still, or "" to hide it; `dimmed` darkens an old picture."""
        self._dimmed = dimmed
        self.set_text(text)

    def showEvent(self, event: QEvent) -> None:
        super().showEvent(event)
        self.lower()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        if self._dimmed:
            painter.fillRect(self.rect(), DIMMED)
        painter.setFont(scaled(painter.font(), 1.15, bold=True))
        metrics = painter.fontMetrics()
        wanted, most = pill_size(metrics, self.text).width(), self.width() - 4 * SPACE
        corner = QPoint((self.width() - min(wanted, most)) // 2, 7 * SPACE)
        draw_pill(painter, corner, self.text, widest=most if wanted > most else None)
