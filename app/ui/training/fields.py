"""Form fields for a picture and a path, and their layout."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import smooth_painter


class PictureField(QPushButton):
    """A button that shows the chosen picture or asks for one."""

    def __init__(self, name: str, tip: str, invitation: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self._invitation = invitation
        self.setAccessibleName(name)
        self.setToolTip(tip)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(280, 168)

    def show_image(self, image: QImage) -> None:
        self._image = image
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        palette = self.palette()
        area = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        outline = QPainterPath()
        outline.addRoundedRect(area, RADIUS, RADIUS)
        painter.fillPath(outline, palette.dark() if not self._image.isNull() else palette.base())
        if not self._image.isNull():
            painter.save()
            painter.setClipPath(outline)
            painter.drawImage(_fit_rect(area, self._image), self._image)
            painter.restore()
        else:
            painter.setPen(palette.placeholderText().color())
            wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            inner = area.adjusted(2 * SPACE, SPACE, -2 * SPACE, -SPACE)
            painter.drawText(inner, wrap, self._invitation)
        dashed = Qt.PenStyle.DashLine if self._image.isNull() else Qt.PenStyle.SolidLine
        pen = QPen(palette.mid().color(), 1.5, dashed)
        if self.hasFocus() or self.isDown():
            pen = QPen(palette.highlight().color(), 2)
        elif self.underMouse() and self.isEnabled():
            pen = QPen(palette.placeholderText().color(), 1.5, dashed)
        painter.setPen(pen)
        painter.drawPath(outline)


def _fit_rect(area: QRectF, image: QImage) -> QRectF:
    """Center `image` in `area`, scaled to at most twice its size."""
    scale = min(area.width() / image.width(), area.height() / image.height(), 2.0)
    place = QRectF(0, 0, image.width() * scale, image.height() * scale)
    place.moveCenter(area.center())
    return place


class PathLabel(QLabel):
    """A path, elided in the middle; the tooltip shows it completely."""

    def __init__(self, nothing: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._nothing = nothing
        self._path: Path | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._fit()

    @property
    def path(self) -> Path | None:
        return self._path

    def show_path(self, path: Path | None, nothing: str = "") -> None:
        """Show `path`, or the text `nothing` if it is None."""
        self._path, self._nothing = path, nothing or self._nothing
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _fit(self) -> None:
        text = str(self._path) if self._path else self._nothing
        self.setToolTip(text)
        shown = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, self.width())
        if shown != self.text():
            self.setText(shown)


def path_row(label: QLabel, *buttons: QPushButton) -> QWidget:
    """Return a widget with `label` and its buttons on the right."""
    made = QWidget()
    fill(QHBoxLayout(made), (label, 1), *buttons, margins=(0, 0, 0, 0), spacing=SPACE)
    return made


def add_titled(
    column: QVBoxLayout,
    title: str,
    control: QWidget,
    buddy: QWidget | None,
    remark: QLabel | None = None,
) -> None:
    """Add a heading with the mnemonic of `buddy`, the control, and a remark."""
    label = QLabel(title)
    label.setProperty("role", "heading")
    if buddy is not None:
        label.setBuddy(buddy)
    fill(column, SPACE, label, control)
    if remark is not None:
        column.addWidget(remark)
