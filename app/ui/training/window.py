"""The training studio: the form on the left, preview and losses on the right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QStandardPaths, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from app.errors import Problem
from app.live.session import Session
from app.styles.pack import Style
from app.training.run_store import RunDirectory
from app.training.state import Phase, State
from app.ui.controllers.drop_handler import accept_as_copy
from app.ui.durations import format_duration, format_remaining
from app.ui.file_dialogs import FileDialogs
from app.ui.theme.tokens import SPACE
from app.ui.training.choice_bar import Answer, ChoiceBar
from app.ui.training.form import TrainingForm
from app.ui.training.formatting import confirmation_text
from app.ui.training.loss_plot import LossPlot
from app.ui.training.preview import Preview
from app.ui.widgets.message_bars import ProblemBar, make_button
from app.ui.window_geometry import WindowGeometry
from models.training.download import layers_proven
from models.training.download.published import HOST, PART_MB, WHOLE_MB
from models.training.presets import PRESETS
from utils.devices import resolve

Pixels = NDArray[np.uint8]
FORM_WIDTH = 340
NEAR_START = 30  # steps after which the new style is seen
_EMPTY = "The preview appears here; it shows the picture of the main window in the new style"


class TrainingWindow(QDialog):
    """A modeless window; the stream and the training continue when it is closed.

    Args:
        session: owns the training controller.
        frame: returns the source picture on screen, [H, W, 3] uint8 RGB, or None.
        keep: `keep(photographs=, vgg=)` stores the user's choices.
        picker: makes file dialogs.
        parent: the main window.
    """

    def __init__(
        self,
        session: Session,
        frame: Callable[[], Pixels | None],
        keep: Callable[..., None],
        picker: FileDialogs,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._studio = session, session.studio
        self._frame, self._keep, self._picker = frame, keep, picker
        self._unfinished: tuple[RunDirectory, ...] = ()
        self._problem: Problem | None = None  # the problem shown or dismissed already
        self._attached_run = False  # the run is not from the request in the form
        self._own_pictures_allowed = False
        self._previews = 0  # counts the previews; only the newest is shown
        self.setWindowTitle("Train a style - StyleForge")
        self.setWindowFlag(Qt.WindowType.WindowMinMaxButtonsHint)
        self.setModal(False)
        self.setAcceptDrops(True)
        self._make()
        self._lay_out()
        self._connect()
        self._on_state_changed(self._studio.state)
        self._restart_plot()
        if resolve(session.config.device).type == "cpu":
            self.form.choose_preset(PRESETS[0])

    # Building

    def _make(self) -> None:
        self.form = TrainingForm(self._session.run, self._picker, self)
        self.problems = ProblemBar(self)
        self.choice_bar = ChoiceBar(self)
        self.preview = Preview(self)
        self.preview.show_image(QImage(), _EMPTY)
        self.loss_plot = LossPlot(self)
        self.use_frame = make_button(
            "&Use the current frame",
            "Preview the style on the picture that is on screen",
            self._use_current_frame,
        )
        self.progress_bar = QProgressBar(self)
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setFixedHeight(SPACE)
        self.progress_bar.setAccessibleName("Progress")
        self.progress_bar.setToolTip("Progress of the training")
        self.progress_bar.setStyleSheet(
            "QProgressBar { background: palette(base); border: none; border-radius: 4px; }"
            "QProgressBar::chunk { background: palette(highlight); border-radius: 4px; }"
        )
        self.status = QLabel(self)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.status.setWordWrap(True)
        self.status.setAccessibleName("Status of the training")
        self.start = make_button(
            "&Start training", "Measure how long it takes, then train (Ctrl+Enter)", self._start
        )
        self.resume = make_button(
            "&Resume", "Continue from the last checkpoint (Ctrl+Enter)", self._resume
        )
        for primary in (self.start, self.resume):
            primary.setProperty("role", "primary")
        self.pause = make_button("Pau&se", "Pause training; progress is saved", self._pause)
        self.cancel = make_button("Can&cel", "Stop training and delete this run", self._ask_cancel)
        self.discard = make_button(
            "Delete ru&n", "Delete this run with its checkpoint", self._ask_cancel
        )
        for each in (self.start, self.resume, self.pause, self.cancel, self.discard):
            each.setAutoDefault(False)
        for key in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(key), self, self._start_or_resume)

    def _lay_out(self) -> None:
        right = QVBoxLayout()
        right.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        right.setSpacing(SPACE)
        right.addWidget(self.preview, 3)
        under = QHBoxLayout()
        under.addStretch(1)
        under.addWidget(self.use_frame)
        right.addLayout(under)
        right.addWidget(self.loss_plot, 2)
        foot = QFrame(self)
        foot.setObjectName("transport")  # styled like the bars of the main window
        row = QVBoxLayout(foot)
        row.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        row.setSpacing(SPACE)
        row.addWidget(self.progress_bar)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE)
        buttons.addWidget(self.status, 1)
        for each in (self.discard, self.cancel, self.pause, self.resume, self.start):
            buttons.addWidget(each)
        row.addLayout(buttons)
        self.form.setFixedWidth(max(FORM_WIDTH, self.fontMetrics().averageCharWidth() * 46))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.problems, 0, 0, 1, 2)
        grid.addWidget(self.choice_bar, 1, 0, 1, 2)
        grid.addWidget(self.form, 2, 0)
        grid.addLayout(right, 2, 1)
        grid.addWidget(foot, 3, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(2, 1)
        self.resize(1020, 720)
        WindowGeometry(self)

    def _connect(self) -> None:
        studio = self._studio
        studio.changed.connect(self._on_state_changed)
        studio.history_replaced.connect(self._restart_plot)
        studio.preview_saved.connect(self._show_preview)
        studio.note_received.connect(self._show_note)
        studio.finished.connect(self._show_finished)
        studio.whole_file_needed.connect(self._ask_for_whole_file)
        studio.unfinished_changed.connect(self._ask_about_unfinished)
        self.form.own_pictures_wanted.connect(self._use_own_pictures)
        self.form.changed.connect(self._on_form_changed)

    def showEvent(self, event: QShowEvent) -> None:
        """Look for unfinished runs whenever the window is shown."""
        super().showEvent(event)
        if self._studio.state.phase is Phase.IDLE:
            self._studio.look_for_unfinished()

    def restore(self, photographs: str, vgg: str, own_pictures: bool) -> None:
        """Fill in the choices of the last time; `own_pictures`: the pictures folder may be read."""
        self._own_pictures_allowed = own_pictures
        if photographs and Path(photographs).is_dir():
            self.form.set_folder(Path(photographs))
        elif own_pictures:
            self._use_own_pictures()
        self.form.show_vgg(Path(vgg) if vgg else None)

    def use_picture(self, picture: Path, title: str) -> None:
        """Fill in the style picture and the title; a run that exists keeps its own, and says so."""
        if self._studio.state.phase is Phase.IDLE:
            self.form.set_picture(picture, title)
            if self.form.folder.path is None:
                self._use_own_pictures()
        else:
            run = self._studio.state.run
            named = f"'{run.title}'" if run else "another style"
            self.problems.add(
                Problem(
                    f"'{title}' cannot be trained while the training of {named} is not finished",
                    advice="Finish or delete that run first.",
                )
            )

    def _use_own_pictures(self) -> None:
        """Learn on the user's pictures folder; the first time only if that is allowed."""
        folder = _own_pictures()
        if self._own_pictures_allowed:
            self.form.set_folder(folder)
            return

        def allowed() -> None:
            self._own_pictures_allowed = True
            self._keep(own_pictures=True)
            self.form.set_folder(folder)

        self.choice_bar.ask(
            "own pictures",
            f"May StyleForge look through {folder} and learn on the photographs there, now and "
            "whenever you train a style? They are only read, and nothing leaves this machine.",
            Answer("&Allow", "Learn on these photographs; this is asked once", allowed),
            Answer("Choose a fol&der...", "Learn on other photographs", self.form.ask_folder),
            Answer("&No", "Leave these photographs alone", lambda: None),
        )

    # Signals of the training controller

    def _on_state_changed(self, state: State) -> None:
        phase = state.phase
        idle, paused = phase is Phase.IDLE, phase is Phase.PAUSED
        self.form.set_editable(idle)
        if idle and self._attached_run:
            self._attached_run = False
            self.form.show_run(None)
        self.start.setVisible(idle)
        self.start.setEnabled(idle and not self.form.missing_input)
        self.pause.setVisible(phase in (Phase.TRAINING, Phase.STOPPING))
        self.pause.setEnabled(phase is Phase.TRAINING)
        self.resume.setVisible(paused)
        self.discard.setVisible(paused)
        self.cancel.setVisible(phase.busy and phase is not Phase.AWAITING_CONFIRMATION)
        self.cancel.setEnabled(phase is not Phase.FINISHING)
        self.use_frame.setEnabled(
            phase in (Phase.MEASURING, Phase.AWAITING_CONFIRMATION, Phase.TRAINING, Phase.PAUSED)
        )
        self.progress_bar.setVisible(phase.busy and phase is not Phase.AWAITING_CONFIRMATION)
        self.progress_bar.setRange(0, 0 if state.fraction is None else 1000)
        if state.fraction is not None:
            self.progress_bar.setValue(round(state.fraction * 1000))
        self.status.setText(self._status_text(state))
        self._ask_if_needed(state)
        self._show_problem(state.problem)

    def _show_problem(self, problem: Problem | None) -> None:
        if problem != self._problem:
            self._problem = problem
            while self.problems.problems:
                self.problems.dismiss()
            if problem is not None:
                self.problems.add(problem)

    def _status_text(self, state: State) -> str:
        run, progress = state.run, state.progress
        if state.phase is Phase.IDLE:
            return self.form.missing_input
        if state.phase is Phase.PAUSED and run is not None:
            done = f", step {run.iteration:,} of {run.iterations:,}" if run.iteration else ""
            return f"'{run.title}' is paused{done}"
        if state.phase is Phase.TRAINING and progress is not None and run is not None:
            skipped = f"; {progress.skipped} photographs left out" if progress.skipped else ""
            what = f"{'the fast version of ' if run.trains_lite else ''}'{run.title}'"
            return (
                f"Training {what}: step {progress.iteration:,} of {progress.iterations:,}, "
                f"{format_remaining(progress.seconds_left)} at {_pace(progress.per_second)}"
                f"{skipped}"
            )
        return state.doing

    def _ask_if_needed(self, state: State) -> None:
        forecast = state.forecast
        if state.phase is not Phase.AWAITING_CONFIRMATION or forecast is None:
            self.choice_bar.withdraw("long")
        elif self.choice_bar.topic != "long":
            answers = [
                Answer("Start any&way", "Train although it takes that long", self._studio.confirm)
            ]
            if forecast.cheaper is not None:
                time = format_duration(forecast.cheaper_seconds)
                less = Answer(
                    f"&{forecast.cheaper.title} instead: about {time}",
                    forecast.cheaper.words,
                    self._start_cheaper,
                )
                answers.append(less)
            answers.append(Answer("Do &not train", "Return to the form", self._studio.cancel))
            live = self._session.info is not None and not self._session.paused
            self.choice_bar.ask("long", confirmation_text(forecast, beside_picture=live), *answers)
        if state.phase is not Phase.IDLE:
            self.choice_bar.withdraw("unfinished")
        if state.phase not in (Phase.IDLE, Phase.PAUSED):
            self.choice_bar.withdraw("download")
        if state.phase not in (Phase.TRAINING, Phase.PAUSED):
            self.choice_bar.withdraw("cancel")

    def _restart_plot(self) -> None:
        run = self._studio.state.run
        self.loss_plot.set_points(self._studio.history, run.iterations if run else 0)
        if self._studio.state.phase is Phase.TRAINING:  # goes on with the fast version
            return
        self.preview.show_image(QImage(), _EMPTY)

    def _show_preview(self, path: Path) -> None:
        self._previews += 1
        number = self._previews
        progress = self._studio.state.progress
        caption = "A first impression; training makes it finer"
        if progress is not None:
            caption = f"Step {progress.iteration:,}"
            if progress.iteration < NEAR_START:
                caption += " (still close to the style it starts from)"

        def done(image: QImage) -> None:
            if number == self._previews and not image.isNull():
                self.preview.show_image(image, caption)

        self._session.run(lambda: QImage(str(path)), done, doing="show the preview")

    def _show_note(self, text: str) -> None:
        if self._studio.state.progress is None and self._studio.state.phase.busy:
            self.status.setText(text)

    def _show_finished(self, style: Style) -> None:
        self.status.setText(
            f"'{style.title}' is in the gallery; its files are in {style.weights.parent}"
        )

    def _ask_about_unfinished(self, runs: tuple[RunDirectory, ...]) -> None:
        self._unfinished = runs
        if self.choice_bar.topic == "download":
            return  # one question at a time; the studio asks about runs whenever it is shown
        if not runs or self._studio.state.phase is not Phase.IDLE:
            self.choice_bar.withdraw("unfinished")
            return
        run = runs[0]
        done = f": step {run.iteration:,} of {run.iterations:,}" if run.iteration else ""
        more = f" ({len(runs) - 1} more)" if len(runs) > 1 else ""
        self.choice_bar.ask(
            "unfinished",
            f"The training of '{run.title}' is not finished{done}.{more}",
            Answer("&Resume", "Continue from the last checkpoint", lambda: self._resume_run(run)),
            Answer(
                "Delete ru&n",
                "Delete this run with its checkpoint",
                lambda: self._studio.delete(run),
            ),
            Answer("&Later", "Decide later", lambda: None),
        )

    # Actions of the user

    def _on_form_changed(self) -> None:
        self._on_state_changed(self._studio.state)

    def _start_or_resume(self) -> None:
        for each in (self.start, self.resume):
            if each.isVisible() and each.isEnabled():
                each.click()
                return

    def _start(self) -> None:
        if self.form.needs_download:
            part = Answer(
                f"&Download {PART_MB} MB and start",
                "Download the layers in use, then train",
                self._start_training,
            )
            self._ask_to_download(_download_text(), part)
        else:
            self._start_training()

    def _ask_to_download(self, question: str, *first: Answer) -> None:
        whole = Answer(
            f"&Whole file, {WHOLE_MB} MB",
            "Download the whole file, compare its published checksum, then train",
            self._start_with_whole_file,
        )
        answers = [*first, whole]
        if self._studio.state.phase is Phase.IDLE:  # a paused run keeps the file it began with
            tip = "Use a file on this machine, then train"
            answers.append(Answer("Choose a &file...", tip, self._use_file))
        cancel = Answer("&Not now", "Download nothing", lambda: None)
        self.choice_bar.ask("download", question, *answers, cancel)

    def _ask_for_whole_file(self, reason: str) -> None:
        self._ask_to_download(
            f"The layers that training uses cannot be downloaded alone: {reason}. The whole file "
            f"of VGG-19 is {WHOLE_MB} MB, downloaded once from {HOST}."
        )

    def _start_with_whole_file(self) -> None:
        self._studio.allow_whole_file()
        if self._studio.state.phase is Phase.PAUSED:
            self._studio.resume()
        else:
            self._start_training()

    def _use_file(self) -> None:
        self.form.advanced_button.setChecked(True)
        self.form.ask_vgg(self._start_training)

    def _start_training(self) -> None:
        start = next((s for s in self._session.library.styles if s.builtin), None)
        request = self.form.request(start, self._session.config.device)
        if request is None:
            return
        vgg = str(request.vgg) if request.vgg else ""
        self._keep(photographs=str(request.photographs), vgg=vgg)
        self._studio.start(request, self._frame())

    def _start_cheaper(self) -> None:
        forecast = self._studio.state.forecast
        if forecast is not None and forecast.cheaper is not None:
            self.form.choose_preset(forecast.cheaper)
            self._studio.start_cheaper(self._frame())

    def _resume(self) -> None:
        self._studio.resume()

    def _resume_run(self, run: RunDirectory) -> None:
        self._studio.attach(run)
        if self._studio.state.run is not None:
            self._attached_run = True
            self.form.show_run(run)
            self._studio.resume()

    def _pause(self) -> None:
        self._studio.pause()

    def _ask_cancel(self) -> None:
        """Cancel at once before the first step, otherwise ask first."""
        state = self._studio.state
        steps = len(self._studio.history) and self._studio.history[-1].iteration
        if state.run is None or not (steps or state.run.pack.is_dir()):
            self._studio.cancel()
            return
        self.choice_bar.ask(
            "cancel",
            f"Stop training '{state.run.title}' after {steps:,} steps?",
            Answer("&Go on", "Do not stop", lambda: None),
            Answer(
                "&Keep as a style",
                "End the training and add what was learned so far to the gallery",
                self._studio.keep_learned,
            ),
            Answer("&Delete", "Delete what was learned", self._studio.cancel),
        )

    def _use_current_frame(self) -> None:
        frame = self._frame()
        if frame is not None:
            self._studio.set_preview_frame(frame)
            self.status.setText("The next preview shows the current frame")

    # Drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and folders while no run exists."""
        if self._studio.state.phase is Phase.IDLE and _paths(event.mimeData().urls()):
            accept_as_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Use each dropped file or folder."""
        accept_as_copy(event)
        for path in _paths(event.mimeData().urls()):
            self.open_dropped(path)

    def open_dropped(self, path: Path) -> None:
        """Use a folder as the photographs, and a file as the style picture."""
        if path.is_dir():
            self.form.set_folder(path)
        else:
            self.form.set_picture(path)


def _pace(per_second: float) -> str:
    """The measured speed, such as "12 steps a minute"."""
    if per_second >= 1:
        return f"{per_second:.0f} steps a second"
    return f"{60 * per_second:.2g} steps a minute"


def _own_pictures() -> Path:
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation))


def _download_text() -> str:
    """What is downloaded, from where, and what can be checked about it."""
    text = (
        "Training needs a helper network, VGG-19, that judges how well a style is learned: "
        f"{PART_MB} MB, downloaded once from {HOST}. Nothing is sent. "
    )
    if layers_proven():
        return text + "Its checksums are known and compared."
    return text + (
        "Checked are the server's identity and the shape of the data, not a checksum: one is "
        f"published only for the whole file ({WHOLE_MB} MB)."
    )


def _paths(urls: list[QUrl]) -> list[Path]:
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
