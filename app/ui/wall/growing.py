"""A painting that grows from its tile to the whole picture, until the large one is there."""

from __future__ import annotations

from PySide6.QtCore import (
    QEasingCurve,
    QPoint,
    QRect,
    QRectF,
    QSize,
    QSizeF,
    Qt,
    QTimer,
    QVariantAnimation,
)
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from app.engine.result import StyledFrame
from app.live.session import Session
from app.ui.theme.motion import moves
from app.ui.viewport.text_painting import smooth_painter

GROW_MS = 200
LONGEST_MS = 10_000  # until the picture below shows whatever it has


class Growing(QWidget):
    """Shows `painting` over `picture`, and deletes itself after the first result of `style`.

    Args:
        picture: The widget of the picture; this one covers it.
        start: The rectangle of the tile, in global coordinates.
        shape: The size of the source, in pixels; the large picture has the same shape.
    """

    def __init__(
        self,
        session: Session,
        picture: QWidget,
        style: str,
        painting: QPixmap,
        start: QRect,
        shape: QSize,
    ) -> None:
        super().__init__(picture)
        self._session, self._picture, self._style = session, picture, style
        self._painting, self._shape, self._start = painting, shape, start
        self._arrived = False
        self.setObjectName("growing")
        self.ensurePolished()  # the style sheet says whether it may move
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(picture.rect())
        self.growth = QVariantAnimation(
            self, startValue=0.0, endValue=1.0, duration=GROW_MS if moves(self) else 0
        )
        self.growth.setEasingCurve(QEasingCurve.Type.OutCubic)
        self.growth.valueChanged.connect(lambda _: self.update())
        self.growth.finished.connect(self._end_if_done)
        session.painted.connect(self._on_painted)
        session.problem.connect(self.end)
        QTimer.singleShot(LONGEST_MS, self, self.end)
        self.show()
        self.raise_()
        self.growth.start()

    def end(self, *_: object) -> None:
        """Show the picture below."""
        self.hide()
        self.deleteLater()

    def _on_painted(self, styled: StyledFrame) -> None:
        self._arrived = self._arrived or styled.config.styles == (self._style,)
        self._end_if_done()

    def _end_if_done(self) -> None:
        if self._arrived and self.growth.state() != QVariantAnimation.State.Running:
            self.end()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.size() != self._picture.size():
            self.resize(self._picture.size())
        share = float(self.growth.currentValue() or 0.0)
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), self.palette().dark())
        start = QRectF(self._start.translated(-self.mapToGlobal(QPoint(0, 0))))
        end = _fitted(self._shape, QRectF(self.rect()))
        place = QRectF(
            start.topLeft() * (1 - share) + end.topLeft() * share,
            QSizeF(
                start.width() * (1 - share) + end.width() * share,
                start.height() * (1 - share) + end.height() * share,
            ),
        )
        painter.drawPixmap(place, self._painting, _middle(self._painting.size(), place.size()))


def _fitted(shape: QSize, area: QRectF) -> QRectF:
    """Return the largest rectangle of this shape in the middle of `area`."""
    size = QSizeF(shape).scaled(area.size(), Qt.AspectRatioMode.KeepAspectRatio)
    made = QRectF(area.topLeft(), size)
    made.moveCenter(area.center())
    return made


def _middle(whole: QSize, shape: QSizeF) -> QRectF:
    """Return the largest rectangle of this shape in the middle of a picture."""
    return _fitted(shape.toSize().expandedTo(QSize(1, 1)), QRectF(0, 0, *whole.toTuple()))
