"""The results of a run so far: the newest preview and the losses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.live.session import Session
from app.training.state import Phase, State
from app.ui.layouts import fill
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.training.formatting import caption_text, shows_new_style
from app.ui.training.loss_plot import LossPlot
from app.ui.viewport.text_painting import draw_pill, scaled, smooth_painter
from app.ui.widgets.message_bars import make_button
from utils.translation.texts import mark, tr

_EMPTY = mark("The preview appears here; it shows the picture of the main window in the new style")


class Preview(QWidget):
    """Shows one picture as large as possible, with a caption."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self._caption = ""
        self.setAccessibleName(tr("Preview"))
        self.setToolTip(tr("The style at the last checkpoint, on your own picture"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def image(self) -> QImage:
        return self._image

    def show_image(self, image: QImage, caption: str) -> None:
        """Show the picture; for a null image, show only the caption, centered."""
        self._image, self._caption = image, caption
        self.setAccessibleDescription(caption)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(260, 180)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        outline = QPainterPath()
        area = QRectF(self.rect())
        outline.addRoundedRect(area, RADIUS, RADIUS)
        painter.fillPath(outline, self.palette().dark())
        if self._image.isNull():
            painter.setPen(self.palette().placeholderText().color())
            wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            inner = area.adjusted(6 * SPACE, SPACE, -6 * SPACE, -SPACE)
            painter.drawText(inner, wrap, self._caption)
            return
        painter.setClipPath(outline)
        image = self._image
        scale = min(area.width() / image.width(), area.height() / image.height())
        place = QRectF(0, 0, image.width() * scale, image.height() * scale)
        place.moveCenter(area.center())
        painter.drawImage(place, image)
        if self._caption:
            painter.setFont(scaled(self.font(), 0.92))
            corner = QPoint(round(place.left()) + SPACE, round(place.top()) + SPACE)
            draw_pill(painter, corner, self._caption, widest=round(place.width()) - 2 * SPACE)


class Results(QWidget):
    """Shows previews and losses of a run; `frame` returns [H, W, 3] uint8 RGB, or None."""

    frame_used = Signal()  # the next preview shows the current frame

    def __init__(
        self, session: Session, frame: Callable[[], NDArray[np.uint8] | None], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._session, self._studio, self._frame = session, session.studio, frame
        self._previews = 0  # counts the previews; only the newest is shown
        self.preview = Preview(self)
        self.loss_plot = LossPlot(self)
        self.use_frame = make_button(
            tr("&Use the current frame"),
            tr("Preview the style on the current picture"),
            self._use_current_frame,
        )
        fill(
            QVBoxLayout(self),
            (self.preview, 3),
            fill(QHBoxLayout(), None, self.use_frame),
            (self.loss_plot, 2),
            margins=(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE),
            spacing=SPACE,
        )
        self._studio.history_replaced.connect(self._restart)
        self._studio.preview_saved.connect(self._show_preview)
        self._restart()

    def show_state(self, state: State) -> None:
        """Offer another picture for the previews while more will follow."""
        self.use_frame.setEnabled(
            state.phase
            in (Phase.MEASURING, Phase.AWAITING_CONFIRMATION, Phase.TRAINING, Phase.PAUSED)
        )

    def _restart(self) -> None:
        state = self._studio.state
        self.loss_plot.set_points(self._studio.history, state.run.iterations if state.run else 0)
        if state.phase is Phase.TRAINING:  # continues with the fast version
            return
        self.preview.show_image(QImage(), tr(_EMPTY))

    def _show_preview(self, path: Path) -> None:
        state = self._studio.state
        step, steps = _reached(state)
        if step and not shows_new_style(step, steps):
            return  # an impression, or the fine version's preview, shows more of the new style
        self._previews += 1
        shown = self._previews
        caption = caption_text(step)

        def done(image: QImage) -> None:
            if shown == self._previews and not image.isNull():
                self.preview.show_image(image, caption)

        self._session.run(lambda: QImage(str(path)), done, failure="Could not show the preview")

    def _use_current_frame(self) -> None:
        frame = self._frame()
        if frame is not None:
            self._studio.set_preview_frame(frame)
            self.frame_used.emit()


def _reached(state: State) -> tuple[int, int]:
    """Return the step of the newest preview, and the steps of the whole run."""
    if state.progress is not None:
        return state.progress.iteration, state.progress.iterations
    return (state.run.iteration, state.run.iterations) if state.run else (0, 0)
