"""The playback bar: back, pause, forward, position, part, sound; for strips, back and forward."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QStyle,
    QStyleOptionSlider,
    QWidget,
)

from app.frame import SourceInfo
from app.ui.actions import set_available, tip_of
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.jump_slider import JumpSlider
from app.ui.widgets.toolbar import tool_button
from utils.text import clock
from utils.translation.joints import enumerated
from utils.translation.texts import mark, tr

_MARK = 3  # px, width of the marks
_TALL = 16  # px, height of the marks
_HANDLE = 14  # px, as in the style sheet
TICKS = 100  # slider positions per second of a video
LOUDEST = 100  # maximum of the volume slider
VOLUME_TIP = mark("Volume of the video; drag, or use the arrow keys")
_FRAMES = ("step_back", "step_forward")  # only for videos, like the part
_PART = ("mark_start", "mark_end", "loop")
_WIDE = 640  # px from which everything is visible; in a narrower bar, use the menu and the keys
_SLIDER = 120  # px, minimum width of the position slider


class PartSlider(JumpSlider):
    """Shows the marks A and B and the range between them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._part: tuple[int | None, int | None] = (None, None)
        self._looped = False

    def show_part(self, start: int | None, end: int | None, *, looped: bool) -> None:
        """Show the marks A and B, or None for no mark, and whether their range is looped."""
        self._part, self._looped = (start, end), looped
        self.update()

    @property
    def part(self) -> tuple[int | None, int | None]:
        return self._part

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        start, end = self._part
        if start is None and end is None:
            return
        painter = QPainter(self)
        ink = self.palette().color(QPalette.ColorRole.WindowText)
        if not self._looped:
            ink.setAlpha(130)
        middle = self.rect().center().y()
        if start is not None and end is not None:
            shade = QColor(ink)
            shade.setAlpha(70 if self._looped else 35)
            left, right = self._x(start), self._x(end)
            painter.fillRect(QRect(left, middle - _TALL // 4, right - left, _TALL // 2), shade)
        for value in (start, end):
            if value is not None:
                place = QRect(self._x(value) - _MARK // 2, middle - _TALL // 2, _MARK, _TALL)
                painter.fillRect(place, ink)

    def _x(self, value: int) -> int:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        span = self.width() - _HANDLE
        return _HANDLE // 2 + QStyle.sliderPositionFromValue(
            self.minimum(), self.maximum(), value, span, option.upsideDown
        )


class PlaybackBar(QFrame):
    """The playback bar, hidden for sources without positions.

    `seek_requested(position)` is in seconds for a video, and an index for a strip.
    `volume_changed(volume)` is the user's choice, from 0 to 1.
    """

    seek_requested = Signal(float)
    volume_changed = Signal(float)

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transport")
        self._actions = actions
        self._info: SourceInfo | None = None
        self._silence: str | None = None
        self.slider = described(
            PartSlider(self),
            tr("Position"),
            tr("Position in the video or strip; drag, or use the arrow keys"),
        )
        self.slider.valueChanged.connect(self._moved)
        self._position_label = QLabel(self)
        self._position_label.setProperty("role", "muted")
        volume = JumpSlider(Qt.Orientation.Horizontal, self)
        self.volume = described(volume, tr("Volume"), tr(VOLUME_TIP))
        self.volume.setRange(0, LOUDEST)
        self.volume.setPageStep(LOUDEST // 10)
        self.volume.setSingleStep(LOUDEST // 20)
        self.volume.setFixedWidth(10 * SPACE)
        self.volume.valueChanged.connect(lambda value: self.volume_changed.emit(value / LOUDEST))
        moving, self._frame_buttons, self._part_buttons, [self._mute] = (
            [tool_button(actions[key], self) for key in keys]
            for keys in (("previous", "pause", "next"), _FRAMES, _PART, ("mute",))
        )
        self._pause = moving[1]
        fill(
            QHBoxLayout(self),
            *(*moving, *self._frame_buttons, (self.slider, 1), self._position_label),
            *(*self._part_buttons, self._mute, self.volume),
            margins=(SPACE, SPACE // 2, 2 * SPACE, SPACE // 2),
        )
        self.hide()

    def show_source(self, info: SourceInfo | None) -> None:
        """Set the range of the slider for a newly opened source."""
        self._info = info
        if info is None or not (info.duration or info.count > 1):
            self.hide()
            return
        last = round(info.duration * TICKS) if info.duration else info.count - 1
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, last)
        self.slider.setPageStep(5 * TICKS if info.duration else 1)
        self.slider.setSingleStep(TICKS if info.duration else 1)
        self.slider.blockSignals(blocked)
        self.show_position(0.0)
        self._arrange()
        self.show()

    def show_position(self, position: float) -> None:
        """Show the position, except while the user drags the slider."""
        if self._info is None:
            return
        if not self.slider.isSliderDown():
            blocked = self.slider.blockSignals(True)
            self.slider.setValue(self._value(position))
            self.slider.blockSignals(blocked)
        self._position_label.setText(self._position_text(position))

    def show_part(self, start: float | None, end: float | None, *, looped: bool) -> None:
        """Show the looped part.

        Args:
            start: Its start in seconds; None for no mark.
            end: Its end in seconds; None for no mark.
            looped: Whether looping is on.
        """
        marks = (None if mark is None else self._value(mark) for mark in (start, end))
        self.slider.show_part(*marks, looped=looped)
        said = [
            tr("{name} at {clock}", name=name, clock=clock(int(mark)))
            for name, mark in ((tr("loop start"), start), (tr("loop end"), end))
            if mark is not None
        ]
        self.slider.setAccessibleDescription(enumerated(said))

    def show_silence(self, silence: str | None) -> None:
        """Show the state of the sound: "" if audible, the reason if not, None without sound."""
        self._silence = silence
        set_available(self._actions["mute"], tip_of("mute"), silence or "")
        self._mute.setAccessibleDescription(self._actions["mute"].toolTip())
        self.volume.setEnabled(not silence)
        self.volume.setToolTip(silence or tr(VOLUME_TIP))
        self._arrange()

    def show_volume(self, volume: float) -> None:
        """Show the volume, from 0 to 1."""
        blocked = self.volume.blockSignals(True)
        self.volume.setValue(round(volume * LOUDEST))
        self.volume.blockSignals(blocked)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        return QSize(3 * 5 * SPACE + _SLIDER + 12 * SPACE, super().minimumSizeHint().height())

    def _arrange(self) -> None:
        film = self._info is not None and bool(self._info.duration)
        wide = self.width() >= _WIDE
        for each in (*self._frame_buttons, *self._part_buttons):
            each.setVisible(film and wide)
        for each in (self._pause, self.slider):  # pictures do not play
            each.setVisible(film)
        self._mute.setVisible(film and self._silence is not None)
        self.volume.setVisible(film and wide and self._silence is not None)

    def _value(self, position: float) -> int:
        assert self._info is not None
        return round(position * (TICKS if self._info.duration else 1))

    def _position_text(self, position: float) -> str:
        assert self._info is not None
        if self._info.duration:
            return f"{clock(int(position))} / {clock(int(self._info.duration))}"
        return tr("{position} of {count}", position=int(position) + 1, count=self._info.count)

    def _moved(self, value: int) -> None:
        if self._info is not None:
            self.seek_requested.emit(value / TICKS if self._info.duration else float(value))
