"""Switches the virtual camera on and off, and sends it the window's stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.result import StyledFrame
from app.errors import ADVICE, Problem, StyleForgeError
from app.settings import Settings
from app.ui.virtual_camera.dialog import CameraDialog
from app.ui.virtual_camera.obs_dialog import ObsDialog
from app.ui.window_context import WindowContext
from app.virtual_camera.choice import CameraChoice, parse_size
from app.virtual_camera.color_bars import color_bars
from app.virtual_camera.installing import needed
from app.virtual_camera.sender import CameraStatus, State, VirtualCamera
from utils.translation.joints import sentences
from utils.translation.texts import mark, tr

TEST_MS = 5000  # of the test picture
FAILURE = mark("Could not switch the virtual camera on")


def choice_from_settings(settings: Settings) -> CameraChoice:
    width, height = parse_size(settings.camera_size)
    return CameraChoice(
        width,
        height,
        settings.camera_rate,
        settings.camera_format,
        settings.camera_fit,
        settings.camera_device,
        settings.camera_always,
    )


class CameraSwitch(QObject):
    """Sends every result of the session to a virtual camera while `action` is checked."""

    _told = Signal(object)  # CameraStatus, from the camera's thread

    def __init__(self, context: WindowContext, say: Callable[[str], None]) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._action, self._current = context.actions["virtual_camera"], context.styled
        self._settings, self._update, self._say = context.settings, context.keep, say
        self._window = context.window
        self._camera: VirtualCamera | None = None
        self._wanted = 0  # the number of the wanted opening; 0 while the camera is off
        self._openings = 0
        self._opening = threading.Lock()  # one job at a time opens a camera
        self._lock = threading.Lock()  # guards the camera and the wanted number
        self._dialog: CameraDialog | None = None
        self._obs: ObsDialog | None = None
        self._projector, self._person = context.actions["projector"], context.actions["person"]
        self._text = ""
        self._testing = QTimer(self, interval=TEST_MS, singleShot=True)
        self._testing.timeout.connect(self._show_current)
        self._told.connect(self._on_status)
        session.styled.connect(self._on_styled)

    @property
    def camera(self) -> VirtualCamera | None:
        """The open camera; None while it is off or opening."""
        return self._camera

    def toggle(self) -> None:
        if self._action.isChecked():
            self._open()
        else:
            self.close()

    def ask(self) -> None:
        if self._dialog is None:
            self._dialog = CameraDialog(self._settings(), self._window)
            self._dialog.picked.connect(self._pick)
            self._dialog.show_status(self._text)
        self._dialog.bring_up()

    def ask_obs(self) -> None:
        """Show the ways into other programs."""
        if self._obs is None:
            self._obs = ObsDialog(self._action, self._projector, self._person, self._window)
            self._obs.test_wanted.connect(self._send_test)
            self._obs.settings_wanted.connect(self.ask)
        self._obs.show_status(self._text)
        self._obs.show_needed(needed())
        self._obs.bring_up()

    def _send_test(self) -> None:
        """Show color bars in place of the stream for TEST_MS."""
        if (camera := self._camera) is not None:
            self._testing.start()
            camera.show(color_bars(camera.choice.width, camera.choice.height))

    def _show_current(self) -> None:
        if (styled := self._current()) is not None:
            self._on_styled(styled)

    def close(self) -> None:
        """Switch the camera off, even while it opens."""
        with self._lock:
            self._wanted = 0
            camera, self._camera = self._camera, None
        if camera is not None:
            camera.close()
            self._session.set_least_size(0, 0, "virtual camera")
        self._action.setChecked(False)
        self._show("")

    def _open(self) -> None:
        self._openings += 1
        number = self._wanted = self._openings
        choice = choice_from_settings(self._settings())
        self._show("opening ...")

        def work() -> VirtualCamera | Problem | None:
            with self._opening:
                if number != self._wanted:
                    return None
                try:
                    camera = VirtualCamera(choice, self._told.emit)
                except StyleForgeError as exc:
                    return Problem.of(exc, failure=FAILURE)
                with self._lock:
                    if number == self._wanted:
                        self._camera = camera
                        return camera
                camera.close()  # it was switched off meanwhile
                return None

        def done(opened: VirtualCamera | Problem | None) -> None:
            if number != self._wanted:
                return
            if isinstance(opened, Problem):
                self.close()
                self._show_fault(opened)
            elif opened is not None:
                self._on_status(opened.status)
                self._session.set_least_size(choice.width, choice.height, "virtual camera")
                self._show_current()

        self._session.run(work, done, failure=FAILURE)

    def _pick(self, field: str, value: Any) -> None:
        if getattr(self._settings(), field) == value:
            return
        self._update(**{field: value})
        if self._dialog is not None:
            self._dialog.show_settings(self._settings())
        if self._wanted:  # an open camera cannot be changed
            self.close()
            self._action.setChecked(True)
            self._open()

    @Slot(object)
    def _on_styled(self, styled: StyledFrame) -> None:
        if self._camera is not None and not self._testing.isActive():
            self._camera.show(styled.frame.pixels)

    @Slot(object)
    def _on_status(self, status: CameraStatus) -> None:
        if self._camera is None or status != self._camera.status:
            return  # from a closed camera, or outdated
        if status.state is State.FAILED:
            self.close()
            self._show_fault(
                Problem(
                    tr(
                        "The virtual camera {device} failed: {fault}",
                        device=status.device,
                        fault=status.fault,
                    ),
                    advice=tr(ADVICE["VirtualCameraError"]),
                )
            )
            return
        self._show(str(status))

    def _show_fault(self, problem: Problem) -> None:
        """Show why there is no camera: where the user looks, with what to install."""
        missing = needed().missing
        if missing:
            self.ask_obs()
        if self._obs is not None and self._obs.isVisible():
            self._obs.show_fault(missing or sentences(problem.summary, problem.advice))
        else:
            self._session.problem.emit(problem)

    def _show(self, text: str) -> None:
        self._text = tr("Virtual camera: {text}", text=text) if text else ""
        self._say(self._text)
        for dialog in (self._dialog, self._obs):
            if dialog is not None:
                dialog.show_status(self._text)
