"""The slider from smooth to sharp, with the frames a second at both ends."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.speed.badge import fps_text
from app.ui.speed.timing import FrameTime
from app.ui.widgets.end_stop import AUTOMATIC
from app.ui.widgets.jump_slider import JumpSlider
from utils.translation.texts import mark, tr

CUSTOM = mark("Custom")
NO_RATE = "\N{NO-BREAK SPACE}"  # reserves the line, so that an appearing rate moves nothing
TIP = mark(
    "Left: more pictures a second. Right: sharper pictures. In the middle, the program chooses. "
    "The rates were measured on this machine; a camera may deliver fewer pictures"
)


def rate_text(time: FrameTime | None) -> str:
    """Return "15 fps" if measured, "about 15 fps" if estimated, "" for None."""
    if time is None:
        return ""
    return fps_text(time.fps) if time.measured else tr("about {rate}", rate=fps_text(time.fps))


class _Slider(JumpSlider):
    """A slider that leaves the wheel to the panel for scrolling."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class SpeedBar(QWidget):
    """Shows one of a few steps, or that the setting matches none.

    `picked(index)` carries the step chosen by the user.
    """

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        slider = _Slider(Qt.Orientation.Horizontal)
        self.slider = described(slider, tr("Smooth or sharp"), tr(TIP))
        self.slider.setPageStep(1)
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.slider.setTickInterval(1)
        self.slider.valueChanged.connect(self.picked)
        self.automatic = described(
            QPushButton(tr(AUTOMATIC)),
            tr("Automatic speed"),
            tr("Let the program choose between smooth and sharp (Shift+A)"),
        )
        self.automatic.clicked.connect(lambda: self.picked.emit(self.slider.maximum() // 2))
        policy = self.automatic.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.automatic.setSizePolicy(policy)
        self.automatic.setProperty("role", "small")
        self.title, self.left, self.right = QLabel(), QLabel(NO_RATE), QLabel(NO_RATE)
        for label in (self.left, self.title, self.right):
            label.setProperty("role", "muted")
        for label in (self.left, self.right):  # a long rate does not widen the panel
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.heading = QLabel(tr("&Smooth or sharp"))
        self.heading.setProperty("role", "heading")
        self.heading.setBuddy(self.slider)
        head = fill(QHBoxLayout(), (self.heading, 1), self.automatic)
        ends = fill(QHBoxLayout(), (self.left, 1), self.title, (self.right, 1))
        self.right.setAlignment(Qt.AlignmentFlag.AlignRight)
        parts = head, self.slider, ends
        fill(QVBoxLayout(self), *parts, margins=(0, 0, 0, 0), spacing=0)
        self.setFocusProxy(self.slider)

    def show_steps(
        self,
        titles: Sequence[str],
        current: int | None,
        smooth: FrameTime | None,
        sharp: FrameTime | None,
    ) -> None:
        """Show the current step, or none, and the frame times at both ends, without signals."""
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, len(titles) - 1)
        self.slider.setValue(len(titles) // 2 if current is None else current)
        self.slider.blockSignals(blocked)
        title = tr(CUSTOM if current is None else titles[current])
        self.title.setText(title)
        self.automatic.setVisible(current != len(titles) // 2)
        self.left.setText(rate_text(smooth) or NO_RATE)
        self.right.setText(rate_text(sharp) or NO_RATE)
        ends = tr(
            "smooth {smooth}, sharp {sharp}", smooth=rate_text(smooth), sharp=rate_text(sharp)
        )
        self.slider.setAccessibleDescription(f"{title}; {ends}")
