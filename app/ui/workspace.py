"""Layout of the window: the picture between its bars, and the panel next to it or as a drawer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QColor, QLinearGradient, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QStyle, QVBoxLayout, QWidget

from app.ui.layouts import fill
from app.ui.shortcut_filter import is_own_key
from app.ui.theme.tokens import SPACE
from app.ui.widgets.floating import Floating

MIN_PICTURE_WIDTH = 680  # px; if the panel leaves less for the picture, it becomes a drawer
_SHADOW = QColor(0, 0, 0, 90)


class Workspace(QWidget):
    """Lays out the parts of the window.

    `panel_changed` is emitted when the panel is shown, hidden or turned into a drawer. A drawer
    with the focus stays open. What floats over the picture stays beside the drawer.
    """

    panel_changed = Signal()

    def __init__(
        self,
        toolbar: QWidget,
        picture: QWidget,
        foot: QWidget,
        panel: QWidget,
        status: QWidget,
        floating: Sequence[Floating],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._toolbar, self._picture = toolbar, picture
        self._floating = floating
        self._panel = panel
        self._panel_wanted = True  # show the panel if space allows
        self._drawer_open = False
        self._full = False
        self._narrow = False
        self._click_catcher = _ClickCatcher(self)
        self._click_catcher.clicked.connect(self.close_drawer)
        middle = fill(QVBoxLayout(), (picture, 1), foot, margins=(0, 0, 0, 0), spacing=0)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        self._grid.addWidget(toolbar, 0, 0, 1, 2)
        self._grid.addLayout(middle, 1, 0)
        self._grid.addWidget(panel, 1, 1)
        self._grid.addWidget(status, 2, 0, 1, 2)
        self._grid.setColumnStretch(0, 1)
        self._grid.setRowStretch(1, 1)
        self._click_catcher.raise_()
        for each in floating:
            each.float_over(self)
        self._arrange()

    @property
    def narrow(self) -> bool:
        return self._narrow

    @property
    def panel_shown(self) -> bool:
        """Whether the panel is next to the picture or the drawer is open; ignores full screen."""
        return self._drawer_open if self._narrow else self._panel_wanted

    def show_panel(self, beside: bool, *, full: bool) -> None:
        """Show or hide the panel next to the picture; `full` hides it and closes the drawer."""
        self._panel_wanted, self._full = beside, full
        if full:
            self._drawer_open = False
        self._arrange()

    def open_drawer(self) -> None:
        self._set_drawer(True)

    def close_drawer(self) -> None:
        self._set_drawer(False)

    def _set_drawer(self, on: bool) -> None:
        if on != self._drawer_open:
            self._drawer_open = on and self._narrow
            self._arrange()

    def event(self, event: QEvent) -> bool:
        """Adapt the layout to the size, move the overlays, and leave its keys to the focus.

        The window would receive twenty times as many events, most of them about its actions.
        """
        if is_own_key(event, self.window()):
            event.accept()
            return True
        if event.type() == QEvent.Type.Resize:
            self._update_narrow()
        done = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place()
        return done

    def _update_narrow(self) -> None:
        """Turn the panel into a drawer or back, depending on the width."""
        narrow = self.width() < self._panel.width() + MIN_PICTURE_WIDTH
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._drawer_open = narrow and self._in_use
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
        self._click_catcher.setVisible(shown and self._narrow)
        self._place()
        self.panel_changed.emit()

    def _place(self) -> None:
        room = self._picture.geometry()
        if self._narrow and self._drawer_open:
            top = self._toolbar.geometry().bottom() + 1
            width = min(self._panel.width(), self.width())
            whole = QRect(0, top, self.width(), self.height() - top)
            drawer = QRect(self.width() - width, top, width, whole.height())
            rest = QRect(0, top, self.width() - width, whole.height())
            direction = self.layoutDirection()
            rest = QStyle.visualRect(direction, whole, rest)
            self._panel.setGeometry(QStyle.visualRect(direction, whole, drawer))
            self._panel.raise_()
            self._click_catcher.setGeometry(rest)
            room = room.intersected(QRect(rest.left(), 0, rest.width(), self.height()))
        for each in self._floating:
            each.set_area(room)


class _ClickCatcher(QWidget):
    """Covers everything but the drawer; a click closes the drawer and has no other effect."""

    clicked = Signal()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        edge = QRect(self.width() - 2 * SPACE, 0, 2 * SPACE, self.height())
        edge = QStyle.visualRect(self.layoutDirection(), self.rect(), edge)
        if not event.rect().intersects(edge):
            return
        far, near = edge.left(), edge.right()
        if self.isRightToLeft():
            far, near = near, far
        shadow = QLinearGradient(far, 0, near, 0)
        shadow.setColorAt(0, Qt.GlobalColor.transparent)
        shadow.setColorAt(1, _SHADOW)
        QPainter(self).fillRect(edge, shadow)
