"""The training studio: the form on the left, preview and losses on the right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.engine.painting_devices import pytorch_key
from app.errors import Problem
from app.live.session import Session
from app.styles.pack import Style
from app.training.state import Phase, State
from app.ui.controllers.drop_handler import accept_as_copy
from app.ui.controllers.dropped_material import material_of
from app.ui.file_dialogs import FileDialogs
from app.ui.training.choice_card import ChoiceCard
from app.ui.training.foot import Foot
from app.ui.training.form import TrainingForm
from app.ui.training.formatting import busy_text, status_text
from app.ui.training.own_pictures import OwnPictures
from app.ui.training.questions import Questions
from app.ui.training.results import Results
from app.ui.training.starting import Starter
from app.ui.widgets.dialogs import ModelessDialog
from app.ui.widgets.floating import BottomCards, CenteredCard, Floating
from app.ui.widgets.toast import Toast
from app.ui.widgets.toasts import ProblemToast
from app.ui.window_geometry import WindowGeometry
from models.training.presets import PRESETS
from utils.devices import resolve
from utils.translation.texts import tr

FORM_WIDTH = 340


class TrainingWindow(ModelessDialog):
    """A modeless window of the training studio; closing it does not stop a run.

    `frame` returns the current picture, [H, W, 3] uint8 RGB, or None.
    """

    _floating: tuple[Floating, ...] = ()  # until it is laid out

    def __init__(
        self,
        session: Session,
        frame: Callable[[], NDArray[np.uint8] | None],
        keep: Callable[..., None],
        picker: FileDialogs,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(tr("Train a style - StyleForge"), parent)
        self._studio = session.studio
        self._problem: Problem | None = None  # the problem already shown or dismissed
        self.setWindowFlag(Qt.WindowType.WindowMinMaxButtonsHint)
        self.setAcceptDrops(True)
        self.form = TrainingForm(session.run, picker, self)
        self.problems = ProblemToast(self)
        Toast(self.problems, parent=self)
        self.choice_card = ChoiceCard(self)
        self.results = Results(session, frame, self)
        self.starter = Starter(session, self.form, frame, keep)
        self.questions = Questions(session, self.starter, self.choice_card)
        self.own_pictures = OwnPictures(self.form, self.choice_card, keep)
        self.foot = Foot(
            self._start, self._studio.resume, self._studio.pause, self.questions.cancel, self
        )
        for key in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(key), self, self.foot.start_or_resume)
        self._lay_out()
        self._connect()
        self._on_state_changed(self._studio.state)
        if resolve(pytorch_key(session.config.device)).type == "cpu":
            self.form.choose_preset(PRESETS[0])

    def _lay_out(self) -> None:
        self.form.setFixedWidth(max(FORM_WIDTH, self.fontMetrics().averageCharWidth() * 46))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.form, 0, 0)
        grid.addWidget(self.results, 0, 1)
        grid.addWidget(self.foot, 1, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(0, 1)
        self._floating = (
            BottomCards(self.problems, parent=self),
            CenteredCard(self.choice_card, self),
        )
        for each in self._floating:
            each.float_over(self)
        self.resize(1020, 720)
        WindowGeometry(self)

    def _connect(self) -> None:
        studio = self._studio
        studio.changed.connect(self._on_state_changed)
        studio.note_received.connect(self._show_note)
        studio.finished.connect(self._show_finished)
        studio.whole_file_needed.connect(self.questions.ask_for_whole_file)
        studio.unfinished_changed.connect(self.questions.ask_about_unfinished)
        self.results.frame_used.connect(self._show_frame_used)
        self.form.own_pictures_wanted.connect(self.own_pictures.use)
        self.form.changed.connect(self._on_form_changed)

    def event(self, event: QEvent) -> bool:
        """Keep messages over the part above the foot."""
        done = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            for each in self._floating:
                each.set_area(QRect(0, 0, self.width(), self.foot.y()))
        return done

    def showEvent(self, event: QShowEvent) -> None:
        """Look for unfinished runs whenever the window is shown."""
        super().showEvent(event)
        if self._studio.state.phase is Phase.IDLE:
            self._studio.look_for_unfinished()

    def restore(self, photographs: str, vgg: str, own_pictures: bool) -> None:
        """Restore the last choices; `own_pictures` permits reading the pictures folder."""
        self.own_pictures.allowed = own_pictures
        if photographs and Path(photographs).is_dir():
            self.form.set_folder(Path(photographs))
        elif own_pictures:
            self.own_pictures.use()
        self.form.show_vgg(Path(vgg) if vgg else None)

    def use_picture(self, picture: Path, title: str) -> None:
        """Set the style picture and title; with an existing run, report a problem instead."""
        if self._studio.state.phase is Phase.IDLE:
            self.form.set_picture(picture, title)
            if self.form.folder.path is None:
                self.own_pictures.use()
        else:
            said = busy_text(title, self._studio.state.run)
            self.problems.add(Problem(said, advice=tr("Finish or delete that run first.")))

    def _start(self) -> None:
        if self.form.needs_download:
            self.questions.ask_to_download()
        else:
            self.starter.start()

    # Display

    def _on_state_changed(self, state: State) -> None:
        idle, missing = state.phase is Phase.IDLE, self.form.missing_input
        self.form.set_editable(idle)
        if idle:
            self.starter.release()
        self.foot.show_state(state, missing if idle else status_text(state), startable=not missing)
        self.results.show_state(state)
        self.questions.show_state(state)
        self._show_problem(state.problem)

    def _on_form_changed(self) -> None:
        self._on_state_changed(self._studio.state)

    def _show_problem(self, problem: Problem | None) -> None:
        if problem != self._problem:
            self._problem = problem
            while self.problems.problems:
                self.problems.dismiss()
            if problem is not None:
                self.problems.add(problem)

    def _show_note(self, text: str) -> None:
        if self._studio.state.progress is None and self._studio.state.phase.busy:
            self.foot.status.setText(text)

    def _show_finished(self, style: Style) -> None:
        self.foot.status.setText(
            tr(
                "'{title}' is in the gallery; its files are in {folder}",
                title=style.title,
                folder=style.weights.parent,
            )
        )

    def _show_frame_used(self) -> None:
        self.foot.status.setText(tr("The next preview shows the current frame"))

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._studio.state.phase is Phase.IDLE and material_of(event.mimeData()).paths:
            accept_as_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        accept_as_copy(event)
        for path in material_of(event.mimeData()).paths:
            self.open_dropped(path)

    def open_dropped(self, path: Path) -> None:
        """Use a folder as the photographs, and a file as the style picture."""
        if path.is_dir():
            self.form.set_folder(path)
        else:
            self.form.set_picture(path)
