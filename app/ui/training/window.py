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
from app.training.state import Phase, State, TrainingProgress
from app.translation.texts import mark, tr, trn
from app.ui.controllers.drop_handler import accept_as_copy
from app.ui.durations import format_duration, format_remaining
from app.ui.file_dialogs import FileDialogs
from app.ui.languages.start import number
from app.ui.theme.tokens import SPACE
from app.ui.training.choice_bar import Answer, ChoiceBar
from app.ui.training.form import TrainingForm
from app.ui.training.formatting import confirmation_text, pace_text
from app.ui.training.loss_plot import LossPlot
from app.ui.training.preview import Preview
from app.ui.training.topics import Topic
from app.ui.widgets.message_bars import ProblemBar, make_button
from app.ui.window_geometry import WindowGeometry
from models.training.download import layers_proven
from models.training.download.published import HOST, PART_MB, WHOLE_MB
from models.training.presets import PRESETS
from utils.devices import resolve

Pixels = NDArray[np.uint8]
FORM_WIDTH = 340
NEAR_START = 30  # steps after which the new style is seen
_EMPTY = mark("The preview appears here; it shows the picture of the main window in the new style")


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
        self.setWindowTitle(tr("Train a style - StyleForge"))
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
        self.preview.show_image(QImage(), tr(_EMPTY))
        self.loss_plot = LossPlot(self)
        self.use_frame = make_button(
            tr("&Use the current frame"),
            tr("Preview the style on the picture that is on screen"),
            self._use_current_frame,
        )
        self.progress_bar = QProgressBar(self)
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setFixedHeight(SPACE)
        self.progress_bar.setAccessibleName(tr("Progress"))
        self.progress_bar.setToolTip(tr("Progress of the training"))
        self.progress_bar.setStyleSheet(
            "QProgressBar { background: palette(base); border: none; border-radius: 4px; }"
            "QProgressBar::chunk { background: palette(highlight); border-radius: 4px; }"
        )
        self.status = QLabel(self)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.status.setWordWrap(True)
        self.status.setAccessibleName(tr("Status of the training"))
        self.start = make_button(
            tr("&Start training"),
            tr("Measure how long it takes, then train (Ctrl+Enter)"),
            self._start,
        )
        self.resume = make_button(
            tr("&Resume"), tr("Continue from the last checkpoint (Ctrl+Enter)"), self._resume
        )
        for primary in (self.start, self.resume):
            primary.setProperty("role", "primary")
        self.pause = make_button(tr("Pau&se"), tr("Pause training; progress is saved"), self._pause)
        self.cancel = make_button(
            tr("Can&cel"), tr("Stop training and delete this run"), self._ask_cancel
        )
        self.discard = make_button(
            tr("Delete ru&n"), tr("Delete this run with its checkpoint"), self._ask_cancel
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
            said = (
                tr(
                    "'{title}' cannot be trained while the training of '{other}' is not finished",
                    title=title,
                    other=run.title,
                )
                if run
                else tr(
                    "'{title}' cannot be trained while the training of another style is not "
                    "finished",
                    title=title,
                )
            )
            self.problems.add(Problem(said, advice=tr("Finish or delete that run first.")))

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
            Topic.OWN_PICTURES,
            tr(
                "May StyleForge look through {folder} and learn on the photographs there, now and "
                "whenever you train a style? They are only read, and nothing leaves this machine.",
                folder=folder,
            ),
            Answer(tr("&Allow"), tr("Learn on these photographs; this is asked once"), allowed),
            Answer(
                tr("Choose a fol&der..."), tr("Learn on other photographs"), self.form.ask_folder
            ),
            Answer(tr("&No"), tr("Leave these photographs alone"), lambda: None),
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
            if not run.iteration:
                return tr("'{title}' is paused", title=run.title)
            return tr("'{title}' is paused, step {step} of {steps}", **_steps(run))
        if state.phase is Phase.TRAINING and progress is not None and run is not None:
            return _training_text(run, progress)
        return tr(state.doing)

    def _ask_if_needed(self, state: State) -> None:
        forecast = state.forecast
        if state.phase is not Phase.AWAITING_CONFIRMATION or forecast is None:
            self.choice_bar.withdraw(Topic.LONG)
        elif self.choice_bar.topic != Topic.LONG:
            answers = [
                Answer(
                    tr("Start any&way"),
                    tr("Train although it takes that long"),
                    self._studio.confirm,
                )
            ]
            if forecast.cheaper is not None:
                preset = tr(forecast.cheaper.title)
                time = format_duration(forecast.cheaper_seconds)
                less = Answer(
                    tr("&{preset} instead: about {time}", preset=preset, time=time),
                    tr(forecast.cheaper.words),
                    self._start_cheaper,
                )
                answers.append(less)
            answers.append(
                Answer(tr("Do &not train"), tr("Return to the form"), self._studio.cancel)
            )
            live = self._session.info is not None and not self._session.paused
            self.choice_bar.ask(
                Topic.LONG, confirmation_text(forecast, beside_picture=live), *answers
            )
        if state.phase is not Phase.IDLE:
            self.choice_bar.withdraw(Topic.UNFINISHED)
        if state.phase not in (Phase.IDLE, Phase.PAUSED):
            self.choice_bar.withdraw(Topic.DOWNLOAD)
        if state.phase not in (Phase.TRAINING, Phase.PAUSED):
            self.choice_bar.withdraw(Topic.CANCEL)

    def _restart_plot(self) -> None:
        run = self._studio.state.run
        self.loss_plot.set_points(self._studio.history, run.iterations if run else 0)
        if self._studio.state.phase is Phase.TRAINING:  # goes on with the fast version
            return
        self.preview.show_image(QImage(), tr(_EMPTY))

    def _show_preview(self, path: Path) -> None:
        self._previews += 1
        shown = self._previews
        progress = self._studio.state.progress
        if progress is None:
            caption = tr("A first impression; training makes it finer")
        elif progress.iteration < NEAR_START:
            step = number(progress.iteration)
            caption = tr("Step {step} (still close to the style it starts from)", step=step)
        else:
            caption = tr("Step {step}", step=number(progress.iteration))

        def done(image: QImage) -> None:
            if shown == self._previews and not image.isNull():
                self.preview.show_image(image, caption)

        self._session.run(lambda: QImage(str(path)), done, doing="show the preview")

    def _show_note(self, text: str) -> None:
        if self._studio.state.progress is None and self._studio.state.phase.busy:
            self.status.setText(text)

    def _show_finished(self, style: Style) -> None:
        self.status.setText(
            tr(
                "'{title}' is in the gallery; its files are in {folder}",
                title=style.title,
                folder=style.weights.parent,
            )
        )

    def _ask_about_unfinished(self, runs: tuple[RunDirectory, ...]) -> None:
        self._unfinished = runs
        if self.choice_bar.topic == Topic.DOWNLOAD:
            return  # one question at a time; the studio asks about runs whenever it is shown
        if not runs or self._studio.state.phase is not Phase.IDLE:
            self.choice_bar.withdraw(Topic.UNFINISHED)
            return
        run = runs[0]
        if run.iteration:
            question = tr(
                "The training of '{title}' is not finished: step {step} of {steps}.", **_steps(run)
            )
        else:
            question = tr("The training of '{title}' is not finished.", title=run.title)
        if more := len(runs) - 1:
            question = trn("{text} ({n} more)", "{text} ({n} more)", more, text=question)
        self.choice_bar.ask(
            Topic.UNFINISHED,
            question,
            Answer(
                tr("&Resume"),
                tr("Continue from the last checkpoint"),
                lambda: self._resume_run(run),
            ),
            Answer(
                tr("Delete ru&n"),
                tr("Delete this run with its checkpoint"),
                lambda: self._studio.delete(run),
            ),
            Answer(tr("&Later"), tr("Decide later"), lambda: None),
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
                tr("&Download {size} MB and start", size=PART_MB),
                tr("Download the layers in use, then train"),
                self._start_training,
            )
            self._ask_to_download(_download_text(), part)
        else:
            self._start_training()

    def _ask_to_download(self, question: str, *first: Answer) -> None:
        whole = Answer(
            tr("&Whole file, {size} MB", size=WHOLE_MB),
            tr("Download the whole file, compare its published checksum, then train"),
            self._start_with_whole_file,
        )
        answers = [*first, whole]
        if self._studio.state.phase is Phase.IDLE:  # a paused run keeps the file it began with
            tip = tr("Use a file on this machine, then train")
            answers.append(Answer(tr("Choose a &file..."), tip, self._use_file))
        cancel = Answer(tr("&Not now"), tr("Download nothing"), lambda: None)
        self.choice_bar.ask(Topic.DOWNLOAD, question, *answers, cancel)

    def _ask_for_whole_file(self, reason: str) -> None:
        self._ask_to_download(
            tr(
                "The layers that training uses cannot be downloaded alone: {reason}. The whole "
                "file of VGG-19 is {size} MB, downloaded once from {host}.",
                reason=reason,
                size=WHOLE_MB,
                host=HOST,
            )
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
            Topic.CANCEL,
            trn(
                "Stop training '{title}' after {n} step?",
                "Stop training '{title}' after {n} steps?",
                steps,
                n=number(steps),
                title=state.run.title,
            ),
            Answer(tr("&Go on"), tr("Do not stop"), lambda: None),
            Answer(
                tr("&Keep as a style"),
                tr("End the training and add what was learned so far to the gallery"),
                self._studio.keep_learned,
            ),
            Answer(tr("&Delete", "training"), tr("Delete what was learned"), self._studio.cancel),
        )

    def _use_current_frame(self) -> None:
        frame = self._frame()
        if frame is not None:
            self._studio.set_preview_frame(frame)
            self.status.setText(tr("The next preview shows the current frame"))

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


def _steps(run: RunDirectory) -> dict[str, str]:
    """What a text says of a run that was stopped."""
    return {
        "title": run.title,
        "step": number(run.iteration),
        "steps": number(run.iterations),
    }


def _training_text(run: RunDirectory, progress: TrainingProgress) -> str:
    """How far a run is, and how fast."""
    values = {
        "title": run.title,
        "step": number(progress.iteration),
        "steps": number(progress.iterations),
        "left": format_remaining(progress.seconds_left),
        "pace": pace_text(progress.per_second),
    }
    if run.trains_lite:
        text = tr(
            "Training the fast version of '{title}': step {step} of {steps}, {left} at {pace}",
            **values,
        )
    else:
        text = tr("Training '{title}': step {step} of {steps}, {left} at {pace}", **values)
    if progress.skipped:
        text = trn(
            "{text}; {n} photograph left out",
            "{text}; {n} photographs left out",
            progress.skipped,
            text=text,
        )
    return text


def _own_pictures() -> Path:
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation))


def _download_text() -> str:
    """What is downloaded, from where, and what can be checked about it."""
    need = tr(
        "Training needs a helper network, VGG-19, that judges how well a style is learned: "
        "{size} MB, downloaded once from {host}. Nothing is sent.",
        size=PART_MB,
        host=HOST,
    )
    if layers_proven():
        checks = tr("Its checksums are known and compared.")
    else:
        checks = tr(
            "Checked are the server's identity and the shape of the data, not a checksum: one is "
            "published only for the whole file ({size} MB).",
            size=WHOLE_MB,
        )
    return f"{need} {checks}"


def _paths(urls: list[QUrl]) -> list[Path]:
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
