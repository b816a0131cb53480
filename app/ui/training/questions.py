"""The studio's questions: long or unfinished runs, downloads, cancelled runs."""

from __future__ import annotations

from enum import StrEnum

from app.live.session import Session
from app.training.run_store import RunDirectory
from app.training.state import Phase, State
from app.ui.durations import format_duration
from app.ui.training.choice_card import Answer, ChoiceCard
from app.ui.training.formatting import (
    cancel_text,
    confirmation_text,
    download_text,
    unfinished_text,
    whole_file_text,
)
from app.ui.training.starting import Starter
from models.training.download.published import PART_MB, WHOLE_MB
from utils.translation.texts import tr


class Topic(StrEnum):
    """Identifies a question of the studio, to withdraw it."""

    LONG = "long"
    UNFINISHED = "unfinished"
    DOWNLOAD = "download"
    CANCEL = "cancel"


class Questions:
    """Asks one question at a time in the bar, and withdraws questions that the state settles."""

    def __init__(self, session: Session, starter: Starter, bar: ChoiceCard) -> None:
        self._session, self._studio = session, session.studio
        self._starter, self._bar = starter, bar

    def show_state(self, state: State) -> None:
        """Ask about a long run, and withdraw settled questions."""
        if state.phase is not Phase.AWAITING_CONFIRMATION or state.forecast is None:
            self._bar.withdraw(Topic.LONG)
        elif self._bar.topic != Topic.LONG:
            self._ask_about_long(state)
        if state.phase is not Phase.IDLE:
            self._bar.withdraw(Topic.UNFINISHED)
        if state.phase not in (Phase.IDLE, Phase.PAUSED):
            self._bar.withdraw(Topic.DOWNLOAD)
        if state.phase not in (Phase.TRAINING, Phase.PAUSED):
            self._bar.withdraw(Topic.CANCEL)

    def _ask_about_long(self, state: State) -> None:
        forecast = state.forecast
        assert forecast is not None, "a long run is known by its forecast"
        tip = tr("Train, even though it takes this long")
        answers = [Answer(tr("Start any&way"), tip, self._studio.confirm)]
        if forecast.cheaper is not None:
            preset = tr(forecast.cheaper.title)
            time = format_duration(forecast.cheaper_seconds)
            less = tr("&{preset} instead: about {time}", preset=preset, time=time)
            answers.append(Answer(less, tr(forecast.cheaper.words), self._starter.start_cheaper))
        answers.append(Answer(tr("Do &not train"), tr("Return to the form"), self._studio.cancel))
        live = self._session.info is not None and not self._session.paused
        self._bar.ask(Topic.LONG, confirmation_text(forecast, beside_picture=live), *answers)

    def ask_about_unfinished(self, runs: tuple[RunDirectory, ...]) -> None:
        """Ask whether to resume or delete the newest unfinished run."""
        if self._bar.topic == Topic.DOWNLOAD:
            return  # one question at a time; the studio asks about runs whenever it is shown
        if not runs or self._studio.state.phase is not Phase.IDLE:
            self._bar.withdraw(Topic.UNFINISHED)
            return
        run = runs[0]
        self._bar.ask(
            Topic.UNFINISHED,
            unfinished_text(run, len(runs) - 1),
            Answer(
                tr("&Resume"),
                tr("Continue from the last checkpoint"),
                lambda: self._starter.resume_run(run),
            ),
            Answer(
                tr("Delete ru&n"),
                tr("Delete this run with its checkpoint"),
                lambda: self._studio.delete(run),
            ),
            Answer(tr("&Later"), tr("Decide later"), lambda: None),
        )

    def ask_to_download(self) -> None:
        """Ask whether to download the helper network, and how much of it."""
        part = Answer(
            tr("&Download {size} MB and start", size=PART_MB),
            tr("Download only the layers in use, then train"),
            self._starter.start,
        )
        self._ask_to_download(download_text(), part)

    def ask_for_whole_file(self, reason: str) -> None:
        """Ask to download the whole file, since its layers cannot be downloaded alone."""
        self._ask_to_download(whole_file_text(reason))

    def _ask_to_download(self, question: str, *first: Answer) -> None:
        whole = Answer(
            tr("&Whole file, {size} MB", size=WHOLE_MB),
            tr("Download the whole file, compare its published checksum, then train"),
            self._starter.start_with_whole_file,
        )
        answers = [*first, whole]
        if self._studio.state.phase is Phase.IDLE:  # a paused run keeps its initial file
            tip = tr("Use a file on this machine, then train")
            answers.append(Answer(tr("Choose a &file..."), tip, self._starter.start_with_own_file))
        cancel = Answer(tr("&Not now"), tr("Download nothing"), lambda: None)
        self._bar.ask(Topic.DOWNLOAD, question, *answers, cancel)

    def cancel(self) -> None:
        """Cancel at once before the first step; otherwise ask first."""
        state = self._studio.state
        steps = len(self._studio.history) and self._studio.history[-1].iteration
        if state.run is None or not (steps or state.run.pack.is_dir()):
            self._studio.cancel()
            return
        self._bar.ask(
            Topic.CANCEL,
            cancel_text(state.run, steps),
            Answer(tr("&Go on"), tr("Do not stop"), lambda: None),
            Answer(
                tr("&Keep as a style"),
                tr("End the training and add the style as it is now to the gallery"),
                self._studio.keep_learned,
            ),
            Answer(tr("&Delete", "training"), tr("Delete the training"), self._studio.cancel),
        )
