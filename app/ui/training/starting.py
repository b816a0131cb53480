"""Starts and resumes runs with the form's values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.engine.painting_devices import pytorch_key
from app.live.session import Session
from app.training.run_store import RunDirectory
from app.training.state import Phase
from app.ui.training.form import TrainingForm


class Starter:
    """Connects form and training controller.

    `frame` returns the current picture, [H, W, 3] uint8 RGB, or None.
    """

    def __init__(
        self,
        session: Session,
        form: TrainingForm,
        frame: Callable[[], NDArray[np.uint8] | None],
        keep: Callable[..., None],
    ) -> None:
        self._session, self._studio, self._form = session, session.studio, form
        self._frame, self._keep = frame, keep
        self._attached = False  # whether the run is not from the form's request

    def start(self) -> None:
        start = next((s for s in self._session.catalog.styles if s.builtin), None)
        request = self._form.request(start, pytorch_key(self._session.config.device))
        if request is None:
            return
        vgg = str(request.vgg) if request.vgg else ""
        self._keep(photographs=str(request.photographs), vgg=vgg)
        self._studio.start(request, self._frame())

    def start_cheaper(self) -> None:
        forecast = self._studio.state.forecast
        if forecast is not None and forecast.cheaper is not None:
            self._form.choose_preset(forecast.cheaper)
            self._studio.start_cheaper(self._frame())

    def start_with_whole_file(self) -> None:
        """Download the whole file of VGG-19, then train or resume."""
        self._studio.allow_whole_file()
        if self._studio.state.phase is Phase.PAUSED:
            self._studio.resume()
        else:
            self.start()

    def start_with_own_file(self) -> None:
        """Ask for a file of VGG-19, then train."""
        self._form.advanced_button.setChecked(True)
        self._form.ask_vgg(self.start)

    def resume_run(self, run: RunDirectory) -> None:
        self._studio.attach(run)
        if self._studio.state.run is not None:
            self._attached = True
            self._form.show_run(run)
            self._studio.resume()

    def release(self) -> None:
        """Show the form's own request again after a run from an earlier session."""
        if self._attached:
            self._attached = False
            self._form.show_run(None)
