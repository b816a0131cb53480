"""The widget that shows frames: styled, split view or comparison, with texts over them."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from app.engine.post.blending import Pixels
from app.engine.result import Comparison, StyledFrame
from app.frame import Frame
from app.ui.theme.tokens import SPACE
from app.ui.viewport.brushing import BrushControl
from app.ui.viewport.combing import CombControl
from app.ui.viewport.comparison import paint_comparison, summary
from app.ui.viewport.divider import paint_divider
from app.ui.viewport.frame_painter import FramePainter, on_widget
from app.ui.viewport.text_painting import (
    INK,
    REDRAW_MS,
    draw_card,
    draw_pill,
    pill_size,
    smooth_painter,
)
from app.ui.viewport.zoom_control import ZoomControl
from utils.translation.texts import tr, trn

VIEWS = ("styled", "split", "compare")
_STEPS = {
    Qt.Key.Key_Left: -0.02,
    Qt.Key.Key_Right: 0.02,
    Qt.Key.Key_Home: -1.0,
    Qt.Key.Key_End: 1.0,
}


def _comb_text(handles: int) -> str:
    return trn("{n} handle combs the strokes", "{n} handles comb the strokes", handles)


class Viewport(QWidget):
    """Shows the styled picture, the split view or the comparison.

    The viewport calls `shown(styled, paint_ms)` at the end of each result's first paint.
    """

    split_changed = Signal(float)
    # In device pixels: the widget's width and height, or a zoomed picture's.
    resized = Signal(int, int)

    def __init__(
        self, shown: Callable[[StyledFrame, float], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._on_painted = shown
        self._styled: StyledFrame | None = None
        self._stand_in: Frame | None = None
        self._unpainted = False  # whether the newest result still has to be painted
        self._view = "styled"
        self._split = 0.5
        self._title = tr("the style")
        self._empty_text = ("", "")
        self._waiting_text = ""
        self._drop_hint: tuple[str, str, bool] | None = None
        self._frames = FramePainter()
        self._figures: Comparison | None = None  # the comparison whose figures are shown
        self._figures_since = 0.0
        self._headroom = 0
        self._area = QRect()  # the painted picture's area, in device pixels
        self._picture = QRect()  # the visible part of the picture, which the divider crosses
        self.zoom = ZoomControl(self)
        self.zoom.changed.connect(self._on_zoomed)
        self.comb, self.brush = CombControl(self), BrushControl(self)
        self._tools = self.brush, self.comb  # at most one is open
        for tool in self._tools:
            tool.changed.connect(self._on_tool_changed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(240, 240)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Picture"))
        self.setToolTip("")
        self._update_description()

    # Content

    @property
    def styled(self) -> StyledFrame | None:
        return self._styled

    def show_styled(self, styled: StyledFrame | None, *, timed: bool = True) -> None:
        """Show a result from the next paint on; None clears, `timed` is False for a file's."""
        changed = styled is None or self._styled is None or styled.config != self._styled.config
        if styled is not None:
            whole = styled.captured or styled.frame
            self.zoom.show_picture(QSize(whole.width, whole.height))
        self._styled = styled
        self._unpainted = timed and styled is not None
        self._update_figures(styled.comparison if styled else None, at_once=changed)
        self._update_description()
        self.update()

    def _update_figures(self, newest: Comparison | None, *, at_once: bool) -> None:
        """Limit the update rate so that figures stay legible; show a changed verdict at once."""
        kept, now = self._figures, time.perf_counter()
        old = now - self._figures_since >= REDRAW_MS / 1e3
        if at_once or old or kept is None or newest is None or kept.agrees != newest.agrees:
            self._figures, self._figures_since = newest, now

    @property
    def view(self) -> str:
        return self._view

    @view.setter
    def view(self, view: str) -> None:
        if view not in VIEWS:
            raise ValueError(f"there is no view '{view}', only {', '.join(VIEWS)}")
        self._view = view
        self._update_description()
        self._set_cursor(None)
        self.update()

    @property
    def split(self) -> float:
        """Position of the divider, from 0 (left edge, all styled) to 1 (all original)."""
        return self._split

    @split.setter
    def split(self, split: float) -> None:
        split = min(1.0, max(0.0, split))
        if split != self._split:
            self._split = split
            self._update_description()
            self.split_changed.emit(split)
            self.update()

    @property
    def mirrored(self) -> bool:
        """Whether pictures are mirrored horizontally; writable."""
        return self._frames.mirrored

    @mirrored.setter
    def mirrored(self, mirrored: bool) -> None:
        if mirrored != self._frames.mirrored:
            self._frames.mirrored = mirrored
            self.update()

    def set_headroom(self, headroom: int) -> None:
        if headroom != self._headroom:
            self._headroom = headroom
            self.update()

    def set_style_title(self, title: str) -> None:
        self._title = title
        self.update()

    def show_stand_in(self, pixels: Pixels | None) -> None:
        """Show a picture in place of the newest result, unless it compares; None ends that."""
        if pixels is not None or self._stand_in is not None:
            self._stand_in = None if pixels is None else Frame(pixels)
            self.update()

    def show_empty(self, title: str, detail: str) -> None:
        self._empty_text = (title, detail)
        self._update_description()
        self.update()

    def show_waiting(self, text: str) -> None:
        """Show what is loading ("Loading Candy..."); "" shows nothing."""
        if text != self._waiting_text:
            self._waiting_text = text
            self._update_description()
            self.update()

    def show_drop_hint(self, title: str, detail: str = "", *, accepted: bool = True) -> None:
        """Show the effect of dropping, while the user drags something over the window."""
        self._drop_hint = (title, detail, accepted)
        self.update()

    def hide_drop_hint(self) -> None:
        self._drop_hint = None
        self.update()

    def _update_description(self) -> None:
        if self._styled is None:
            text = self._waiting_text or ". ".join(part for part in self._empty_text if part)
        elif self._view == "split":
            text = tr(
                "Split view, divider at {percent} %; left and right arrows move it",
                percent=round(100 * self._split),
            )
        elif self._view == "compare" and self._figures:
            text = summary(self._figures)
        else:
            text = tr("Styled with {style}", style=self._title)
        if self._styled is not None and self.zoom.text:
            text = tr(
                "{text}. Shown at {size}; Alt and an arrow key move it",
                text=text,
                size=self.zoom.text,
            )
        if self.comb.open and self._styled is not None and self._view != "compare":
            text = ". ".join((text, self.comb.hint or _comb_text(len(self.comb.handles))))
        if self.brush.hint and self._styled is not None and self._view != "compare":
            text = ". ".join((text, self.brush.hint))
        self.setAccessibleDescription(text)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the view, and report the first paint of each result."""
        start = time.perf_counter()
        self._frames.begin_paint()
        for tool in self._tools:
            tool.place(QRectF(), QRect(), mirrored=False)  # without a picture, or with two
        painter = smooth_painter(self)
        painter.fillRect(self.rect(), self.palette().dark())
        if self._styled is None:
            if self._waiting_text:
                draw_card(painter, self.rect(), self._waiting_text, "")
            elif not self._drop_hint:
                draw_card(
                    painter, self.rect(), *self._empty_text, edge=self.palette().mid().color()
                )
        else:
            self._paint_result(painter, self._styled)
            if self._waiting_text:
                corner = QPoint(self.width() - 2 * SPACE, 2 * SPACE)
                widest = self.width() - 4 * SPACE
                draw_pill(painter, corner, self._waiting_text, right=True, widest=widest)
        if self._drop_hint:
            title, detail, accepted = self._drop_hint
            edge = self.palette().highlight().color() if accepted else INK
            draw_card(painter, self.rect(), title, detail, edge=edge, shade=True)
        if self.hasFocus() and self._can_split and not self.window().isFullScreen():
            painter.setPen(QPen(self.palette().highlight().color(), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()
        if self._unpainted and self._styled is not None:
            self._unpainted = False
            self._on_painted(self._styled, (time.perf_counter() - start) * 1e3)

    def _paint_result(self, painter: QPainter, styled: StyledFrame) -> None:
        self._frames.keep_only(styled, self._stand_in)
        self.zoom.begin_paint()
        if self._view == "compare" and styled.comparison and self._figures:
            paint_comparison(
                painter,
                self.rect().adjusted(0, self._headroom, 0, 0),
                self.palette(),
                styled.comparison,
                self._figures,
                lambda frame, area: self._draw(painter, frame, self._place(area)),
            )
            self._paint_zoom(painter)
            return
        place = self._place(self.rect())
        self._draw(painter, self._stand_in or styled.frame, place)
        if self._view == "split":
            self._paint_split(painter, styled, place)
        elif self._view == "compare" and not self._waiting_text:
            corner = QPoint(self.width() - 2 * SPACE, 2 * SPACE)
            said = tr("Measuring plain PyTorch and StyleForge...")
            draw_pill(painter, corner, said, right=True)
        if self._view != "compare":
            whole = on_widget(place, self.devicePixelRatioF())
            for tool in self._tools:
                tool.place(whole, self._picture, mirrored=self.mirrored)
                tool.paint(painter)
        self._paint_zoom(painter)

    def _paint_zoom(self, painter: QPainter) -> None:
        """Show the zoom in percent, unless the picture is fitted into the window."""
        if text := self.zoom.text:
            half = pill_size(painter.fontMetrics(), text).width() // 2
            down = self._picture.bottom() - SPACE - painter.fontMetrics().height() - SPACE
            draw_pill(painter, QPoint(self._picture.center().x() - half, down), text)

    def _paint_split(self, painter: QPainter, styled: StyledFrame, whole: QRect) -> None:
        place, x = self._picture, self._divider()
        painter.save()
        painter.setClipRect(place.left(), place.top(), x - place.left(), place.height())
        self._draw(painter, styled.source, whole)
        painter.restore()
        paint_divider(painter, place, x, self._title)

    def _place(self, area: QRect) -> QRect:
        """Return the whole picture's rectangle in device pixels.

        Set `_picture` to its visible part.
        """
        ratio = self.devicePixelRatioF()
        corner, size = QPointF(area.topLeft()) * ratio, area.size().toSizeF() * ratio
        self._area = QRectF(corner, size).toRect()
        place = self.zoom.place(self._area)
        self._picture = on_widget(place & self._area, ratio).toRect()
        return place

    def _draw(self, painter: QPainter, frame: Frame, place: QRect) -> None:
        """Draw the visible part of a frame; `place` is the rectangle of the whole frame."""
        zoomed = self.zoom.zoomed
        if not self._frames.draw(painter, frame, place, self._area, zoomed=zoomed):
            self.update()

    # The divider

    def _divider(self) -> int:
        return self._picture.left() + round(self._split * self._picture.width())

    def _move_divider(self, x: float) -> None:
        if self._picture.width():
            self.split = (x - self._picture.left()) / self._picture.width()

    def _near_divider(self, x: float) -> bool:
        return self._can_split and abs(x - self._divider()) < 16

    def _set_cursor(self, at: QPointF | None) -> None:
        if self.zoom.dragging:
            shape = Qt.CursorShape.ClosedHandCursor
        elif at is not None and self._near_divider(at.x()) and not self._tool_drags:
            shape = Qt.CursorShape.SplitHCursor
        elif at is not None and (shapes := [t.cursor(at) for t in self._tools if t.open]):
            shape = shapes[0] or self._plain_cursor()
        else:
            shape = self._plain_cursor()
        self.setCursor(shape)

    def _plain_cursor(self) -> Qt.CursorShape:
        zoomed = self.zoom.zoomed and self._styled is not None
        return Qt.CursorShape.OpenHandCursor if zoomed else Qt.CursorShape.ArrowCursor

    @property
    def _tool_drags(self) -> bool:
        return any(tool.dragging for tool in self._tools)

    def _on_tool_changed(self) -> None:
        self.setMouseTracking(any(tool.open for tool in self._tools))
        self._update_description()
        self.update()

    def _on_zoomed(self) -> None:
        self._update_description()
        self._set_cursor(None)
        self._report_size()
        self.update()

    @property
    def _can_split(self) -> bool:
        return self._view == "split" and self._styled is not None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Brush, comb strokes, move the divider to the pointer, or grab a zoomed picture."""
        x, left = event.position().x(), event.button() == Qt.MouseButton.LeftButton
        divides = left and self._near_divider(x)
        used = not divides and any(tool.press(event) for tool in self._tools)
        held = used or (not divides and self.zoom.press(event))
        if self._can_split and left and not held:
            self._move_divider(x)
        self._set_cursor(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Brush, comb strokes, or drag the picture or the divider, and update the cursor."""
        used = any(tool.move(event) for tool in self._tools) or self.zoom.move(event)
        if not used and self._can_split and event.buttons() & Qt.MouseButton.LeftButton:
            self._move_divider(event.position().x())
        self._set_cursor(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not any(tool.release(event) for tool in self._tools):
            self.zoom.release()
        self._set_cursor(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        for tool in self._tools:
            tool.leave()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.brush.open:  # two quick dabs at one place
            self.mousePressEvent(event)
        elif self._styled is not None and event.button() == Qt.MouseButton.LeftButton:
            self.zoom.toggle(event.position())

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._styled is None or not self.zoom.wheel(event):
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Handle gestures, and take the view's own arrow keys before they become shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            divides = self._can_split and event.key() in _STEPS
            tools = any(tool.has_key(event) for tool in self._tools)
            if divides or tools or self.zoom.has_key(event):
                event.accept()
                return True
        gestures = (QEvent.Type.NativeGesture, QEvent.Type.Gesture)
        if event.type() in gestures and self._styled is not None and self.zoom.gesture(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the divider with the arrow keys, Home and End; with Alt, move a zoomed picture.

        Escape ends a drag across the picture; it or Delete removes the handle under the pointer.
        Comma and period change the size of the brush.
        """
        if any(tool.key(event) for tool in self._tools) or self.zoom.key(event):
            return
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None or not self._can_split:
            super().keyPressEvent(event)
            return
        large = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        self.split += step * 5 if large else step

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Clear the cache and report the new size in device pixels."""
        self._frames.clear()
        self._report_size()

    def _report_size(self) -> None:
        ratio = self.devicePixelRatioF()
        size = self.zoom.shown_size or QSize(
            round(self.width() * ratio), round(self.height() * ratio)
        )
        self.resized.emit(size.width(), size.height())
