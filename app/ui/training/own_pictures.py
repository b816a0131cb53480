"""Trains on the user's own pictures, with permission."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QStandardPaths

from app.ui.training.choice_card import Answer, ChoiceCard
from app.ui.training.form import TrainingForm
from utils.translation.texts import tr

_TOPIC = "pictures"


class OwnPictures:
    """Sets the pictures folder in the form; asks for permission once and keeps the answer."""

    def __init__(self, form: TrainingForm, bar: ChoiceCard, keep: Callable[..., None]) -> None:
        self._form, self._bar, self._keep = form, bar, keep
        self.allowed = False  # whether the pictures folder may be read

    def use(self) -> None:
        """Train on the pictures folder if permitted; otherwise ask for permission."""
        folder = _own_pictures()
        if self.allowed:
            self._form.set_folder(folder)
            return

        def allow() -> None:
            self.allowed = True
            self._keep(own_pictures=True)
            self._form.set_folder(folder)

        self._bar.ask(
            _TOPIC,
            tr(
                "May StyleForge search {folder} and train on the photographs there, now and "
                "whenever you train a style? It only reads them, and nothing leaves this machine.",
                folder=folder,
            ),
            Answer(
                tr("&Allow"), tr("Train on these photographs; StyleForge asks only once"), allow
            ),
            Answer(
                tr("Choose a fol&der..."), tr("Train on other photographs"), self._form.ask_folder
            ),
            Answer(tr("&No"), tr("Do not use these photographs"), lambda: None),
        )


def _own_pictures() -> Path:
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation))
