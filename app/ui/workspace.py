"""The inside of the window: the picture between its bars, the panel beside it or, where there is
no room, over it as a drawer."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QColor, QLinearGradient, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_stack import MessageStack

PICTURE = 680  # px; where a panel beside it would leave the picture less, it is a drawer
_SHADOW = QColor(0, 0, 0, 90)


class Workspace(QWidget):
    """Lays the parts out. `panel_changed` follows whenever the panel came or went, or became a
    drawer; a drawer opens and closes by itself where it has or loses the focus."""

    panel_changed = Signal()

    def __init__(
        self,
        toolbar: QWidget,
        messages: MessageStack,
        picture: QWidget,
        foot: QWidget,
        panel: QWidget,
        status: QWidget,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._toolbar, self._messages, self._picture = toolbar, messages, picture
        self._panel = panel
        self._beside = True  # the panel is wanted where there is room for it
        self._drawer = False  # it is open
        self._full = False
        self._narrow = False
        self._outside = _Outside(self)
        self._outside.clicked.connect(self.close_drawer)
        middle = QVBoxLayout()
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(picture, 1)
        middle.addWidget(foot)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        self._grid.addWidget(toolbar, 0, 0, 1, 2)
        self._grid.addLayout(middle, 1, 0)
        self._grid.addWidget(panel, 1, 1)
        self._grid.addWidget(status, 2, 0, 1, 2)
        self._grid.setColumnStretch(0, 1)
        self._grid.setRowStretch(1, 1)
        messages.setParent(self)
        self._outside.raise_()
        messages.raise_()
        self._arrange()

    @property
    def narrow(self) -> bool:
        """Whether the panel is a drawer."""
        return self._narrow

    @property
    def panel_shown(self) -> bool:
        """Whether the panel is beside the picture or the drawer open, full screen apart."""
        return self._drawer if self._narrow else self._beside

    def show_panel(self, beside: bool, *, full: bool) -> None:
        """Show the panel beside the picture, or not; never in full screen, which also closes the
        drawer."""
        self._beside, self._full = beside, full
        if full:
            self._drawer = False
        self._arrange()

    def open_drawer(self) -> None:
        self._set_drawer(True)

    def close_drawer(self) -> None:
        self._set_drawer(False)

    def _set_drawer(self, on: bool) -> None:
        if on != self._drawer:
            self._drawer = on and self._narrow
            self._arrange()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._fold()
        done = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place()
        return done

    def _fold(self) -> None:
        """Make the panel a drawer, or the drawer a panel, as there is room."""
        narrow = self.width() < self._panel.width() + PICTURE
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._drawer = narrow and self._in_use
        if narrow:
            self._grid.removeWidget(self._panel)
        else:
            self._grid.addWidget(self._panel, 1, 1)
        self._arrange()

    @property
    def _in_use(self) -> bool:
        focused = self.window().focusWidget()
        return focused is not None and self._panel.isAncestorOf(focused)

    def _arrange(self) -> None:
        shown = self.panel_shown and not self._full
        if not shown and self._in_use:
            self._picture.setFocus()
        self._panel.setVisible(shown)
        self._outside.setVisible(shown and self._narrow)
        self._place()
        self.panel_changed.emit()

    def _place(self) -> None:
        """What lies on other parts, where they are now."""
        room = self._picture.geometry()
        if self._narrow and self._drawer:
            top = self._toolbar.geometry().bottom() + 1
            width = min(self._panel.width(), self.width())
            left = self.width() - width
            self._panel.setGeometry(left, top, width, self.height() - top)
            self._panel.raise_()
            self._outside.setGeometry(0, top, left, self.height() - top)
            room = room.intersected(QRect(0, 0, left, self.height()))
        self._messages.lie_in(room)


class _Outside(QWidget):
    """Lies over all that is not the drawer; a click there closes it, and does nothing else."""

    clicked = Signal()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The drawer's shadow."""
        edge = QRect(self.width() - 2 * SPACE, 0, 2 * SPACE, self.height())
        if not event.rect().intersects(edge):
            return
        shadow = QLinearGradient(edge.left(), 0, edge.right(), 0)
        shadow.setColorAt(0, Qt.GlobalColor.transparent)
        shadow.setColorAt(1, _SHADOW)
        QPainter(self).fillRect(edge, shadow)
