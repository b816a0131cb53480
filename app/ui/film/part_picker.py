"""Chooses a part of a film by its first and last frame, with a slider over the film."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.layouts import described, fill
from app.ui.player.bar import TICKS, PartSlider
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from utils.text import clock
from utils.translation.texts import tr

_REST_MS = 250  # after the last move of the slider, until its frame is painted
_WHOLE, _PART = "whole", "part"


@dataclass(frozen=True, slots=True)
class FilmFacts:
    """The facts of the open film that the dialog shows before it is measured.

    Attributes:
        duration: In seconds; 0 if the film does not tell.
        sound: Whether it has sound.
        marks: The times of the frames A and B in the player, in seconds; None without a mark.
        position: The time of the frame on screen, in seconds.
    """

    width: int
    height: int
    fps: float
    duration: float
    sound: bool
    marks: tuple[float | None, float | None] = (None, None)
    position: float = 0.0


class PartPicker(QWidget):
    """A slider over the film, buttons for the ends of the part, and the choice of whole or part.

    Signals:
        moved: The slider came to rest on another frame.
        picked: The user chose another part.
    """

    moved = Signal()
    picked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._film = FilmFacts(0, 0, 25.0, 0.0, sound=False)
        self._start: float | None = None
        self._end: float | None = None
        self.slider = described(
            PartSlider(self), tr("Frame of the preview"), tr("Choose the frame to look at")
        )
        self.slider.setPageStep(5 * TICKS)
        self.slider.setSingleStep(TICKS)
        self._clock = QLabel(self)
        self._clock.setProperty("role", "muted")
        self.begin = make_button(
            tr("&Begin here"), tr("Begin the part with this frame"), self._begin_here
        )
        self.finish = make_button(
            tr("E&nd here"), tr("End the part with this frame"), self._end_here
        )
        for button in (self.begin, self.finish):
            button.setAutoDefault(False)
        self.box = OptionBox(tr("Part"), tr("The whole film, or a part of it"), self)
        self.remark = RemarkLabel()
        self._rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self._rest.timeout.connect(self.moved)
        self.slider.valueChanged.connect(self._show_clock)
        self.slider.valueChanged.connect(lambda _: self._rest.start())
        self.box.picked.connect(lambda _: self._changed())
        title = QLabel(tr("&Part"))
        title.setBuddy(self.box)
        fill(
            QVBoxLayout(self),
            fill(QHBoxLayout(), (self.slider, 1), self._clock, spacing=SPACE),
            fill(QHBoxLayout(), title, (self.box, 1), self.begin, self.finish, spacing=SPACE),
            self.remark,
            None,
            margins=(0, 0, 0, 0),
            spacing=SPACE // 2,
        )

    def show_film(self, film: FilmFacts) -> None:
        """Show a film with the marks of the player; a marked part is not chosen by itself."""
        self._film = film
        self._start, self._end = film.marks
        known = film.duration > 0
        for each in (self.slider, self.begin, self.finish):
            each.setEnabled(known)
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, round((film.duration - 1 / film.fps) * TICKS)))
        self.slider.setValue(round(film.position * TICKS))
        self.slider.blockSignals(blocked)
        self._show_clock()
        self._show_marks()
        self.box.show_choice(_WHOLE)
        self._show_remark()

    @property
    def seconds(self) -> float:
        """The time of the frame to look at."""
        return self.slider.value() / TICKS

    @property
    def part(self) -> tuple[float, float] | None:
        """Begin and end of the part, the last frame included; None for the whole film."""
        if self.box.currentData() != _PART or not self._marked:
            return None
        film = self._film
        last = film.duration if self._end is None else self._end + 1 / film.fps
        return self._start or 0.0, min(last, film.duration)

    @property
    def length(self) -> float:
        """Seconds of the chosen part; 0 if unknown."""
        begin, end = self.part or (0.0, self._film.duration)
        return end - begin

    @property
    def _marked(self) -> bool:
        return self._start is not None or self._end is not None

    def _begin_here(self) -> None:
        self._start = self.seconds
        if self._end is not None and self._end < self._start:
            self._end = None
        self._choose_part()

    def _end_here(self) -> None:
        self._end = self.seconds
        if self._start is not None and self._start > self._end:
            self._start = None
        self._choose_part()

    def _choose_part(self) -> None:
        self._show_marks()
        self.box.show_choice(_PART)
        self._changed()

    def _changed(self) -> None:
        self._show_remark()
        self.picked.emit()

    def _show_marks(self) -> None:
        film = self._film
        ends = (None if each is None else round(each * TICKS) for each in (self._start, self._end))
        self.slider.show_part(*ends, looped=True)
        said = tr("{begin} to {end}", begin=_clock(self._start or 0.0), end=_clock(self._last))
        self.box.set_options(
            [
                Choice(_WHOLE, tr("Whole film")),
                Choice(
                    _PART,
                    tr("From A to B"),
                    said,
                    "" if self._marked and film.duration else tr("Mark its begin or its end first"),
                ),
            ]
        )

    @property
    def _last(self) -> float:
        return self._film.duration if self._end is None else self._end

    def _show_remark(self) -> None:
        part, length = self.part, self.length
        if not length:
            self.remark.show_text(tr("The film does not tell its length"))
        elif part is None:
            self.remark.show_text(tr("{length} long", length=_clock(length)))
        else:
            words = tr(
                "{length} long, from {begin} to {end}",
                length=_clock(length),
                begin=_clock(part[0]),
                end=_clock(self._last),
            )
            self.remark.show_text(words)

    def _show_clock(self) -> None:
        shown = tr(
            "{position} of {length}",
            position=_clock(self.seconds),
            length=_clock(self._film.duration),
        )
        self._clock.setText(shown)
        self.slider.setAccessibleDescription(shown)


def _clock(seconds: float) -> str:
    return clock(round(seconds))
