"""Stacks of message bars over the top and bottom of the picture, which does not move."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Signal
from PySide6.QtWidgets import QLayout, QVBoxLayout, QWidget

from app.ui.theme.tokens import SPACE

_WIDEST = 80 * SPACE  # px, width of a toast, unless its buttons need more
_ASIDE = 2 * SPACE  # px, between its sides and the picture's
_BELOW = 7 * SPACE  # px, left for overlays on the lower edge: the recording light, the zoom


class MessageStack(QWidget):
    """Stacks `bars` vertically; each is hidden while empty.

    `covered_height_changed` carries the distance in pixels from the top of the area to the lower
    edge of the bars. `parent` must be in the same window as the bars, to keep their tab order.
    """

    covered_height_changed = Signal(int)

    def __init__(self, *bars: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._bars = bars
        self._area = QRect()
        self._covered_height = 0
        self._headroom = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for bar in bars:
            column.addWidget(bar)
            bar.installEventFilter(self)
        self.hide()

    def set_area(self, room: QRect) -> None:
        """Place the stack along the top of `room`, a rectangle of the parent."""
        if room != self._area:
            self._area = room
            self._place()

    def set_headroom(self, headroom: int) -> None:
        """Place the stack `headroom` pixels below the top, to keep content there visible."""
        if headroom != self._headroom:
            self._headroom = headroom
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Update the layout when a bar is shown or hidden."""
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        """Update the layout when the text of a bar changes."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return done

    def _place(self) -> None:
        shown = any(not bar.isHidden() for bar in self._bars)
        column = self.layout()
        assert column is not None
        place = self._geometry(column) if shown else QRect(self._area.topLeft(), QSize(0, 0))
        self.setGeometry(place)
        self.setVisible(shown)
        self._cover(place.bottom() + 1 - self._area.top() if shown else 0)

    def _geometry(self, column: QLayout) -> QRect:
        top = min(self._headroom, self._area.height())
        height = min(column.totalHeightForWidth(self._area.width()), self._area.height() - top)
        return QRect(self._area.x(), self._area.y() + top, self._area.width(), height)

    def _cover(self, covered: int) -> None:
        if covered != self._covered_height:
            self._covered_height = covered
            self.covered_height_changed.emit(covered)


class Toast(MessageStack):
    """A card over the bottom of the picture, above other overlays on the lower edge.

    It grows upward, so that its buttons stay in place, and moves nothing else.
    """

    def _geometry(self, column: QLayout) -> QRect:
        wanted = max(_WIDEST, column.minimumSize().width())  # all buttons are legible
        width = min(wanted, self._area.width() - 2 * _ASIDE)
        height = min(column.totalHeightForWidth(width), self._area.height() - _BELOW)
        place = QRect(0, 0, width, height)
        place.moveCenter(self._area.center())
        place.moveBottom(self._area.bottom() - _BELOW)
        return place

    def _cover(self, covered: int) -> None:
        """Do nothing, since a toast covers nothing that has to move."""
