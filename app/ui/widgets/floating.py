"""Cards that float over the picture: at its bottom or in its middle, never in a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Signal
from PySide6.QtWidgets import QWidget

from app.ui.theme.tokens import SPACE

_TOAST = 80 * SPACE  # px, width of a card at the bottom, unless its buttons need more
_QUESTION = 60 * SPACE  # px, width of a card in the middle, unless its buttons need more
_ASIDE = 2 * SPACE  # px, between the sides of a card and of the area
_BELOW = 9 * SPACE  # px, left on the lower edge: for the recording light, the wall's buttons
_SHOWN = (QEvent.Type.ShowToParent, QEvent.Type.HideToParent)


class Floating(Protocol):
    """Places cards over an area of the widget that they float over."""

    def float_over(self, parent: QWidget) -> None: ...

    def set_area(self, area: QRect) -> None: ...


class _Cards(QObject):
    """Calls `_place` when a card is shown or hidden, or needs another size.

    The cards must be in the same window as the parent that they float over, to keep their order of
    Tab.
    """

    def __init__(self, cards: Sequence[QWidget], parent: QObject) -> None:
        super().__init__(parent)
        self._cards = tuple(cards)
        self._area = QRect()
        for card in self._cards:
            card.installEventFilter(self)

    def float_over(self, parent: QWidget) -> None:
        for card in self._cards:
            card.setParent(parent)
            card.raise_()
            _park(card)

    def set_area(self, area: QRect) -> None:
        """Place the cards over `area`, a rectangle of their parent."""
        if area != self._area:
            self._area = area
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.HideToParent and isinstance(watched, QWidget):
            _park(watched)
        if event.type() in _SHOWN or event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return False

    def _place(self) -> None:
        raise NotImplementedError

    def _size(self, card: QWidget, width: int) -> QSize:
        """Return the size of a card that is `width` wide if its buttons and the area allow."""
        column = card.layout()
        assert column is not None
        width = max(width, column.totalMinimumSize().width())
        width = min(width, self._area.width() - 2 * _ASIDE)
        return QSize(width, column.totalHeightForWidth(width))


class BottomCards(_Cards):
    """Places cards over the bottom of an area, above the overlays on its lower edge.

    A card that comes takes the lowest free place and keeps it until it goes, so that no card moves
    under the pointer. Cards grow upward.

    `covered_height_changed` carries the height that the cards and the room below them cover.
    """

    covered_height_changed = Signal(int)

    def __init__(self, *cards: QWidget, parent: QObject) -> None:
        super().__init__(cards, parent)
        self._lifts: dict[QWidget, int] = {}  # px, of shown cards above the lowest place
        self._covered = 0

    def _place(self) -> None:
        shown = [card for card in self._cards if not card.isHidden()]
        sizes = {card: self._size(card, _TOAST) for card in shown}
        taken: list[tuple[int, int]] = []
        lifts: dict[QWidget, int] = {}
        for card in sorted(shown, key=lambda card: self._lifts.get(card, self._area.height())):
            height = sizes[card].height() + SPACE
            if card in self._lifts:  # it moves only above one that has grown
                lift = max(self._lifts[card], taken[-1][1] if taken else 0)
            else:
                lift = _lowest_free(taken, height)
            lifts[card] = lift
            taken = sorted([*taken, (lift, lift + height)])
        self._lifts = lifts
        for card in shown:
            place = QRect(self._area.topLeft(), sizes[card])
            place.moveCenter(self._area.center())
            place.moveBottom(self._area.bottom() - _BELOW - lifts[card])
            place.moveTop(max(place.top(), self._area.top()))
            card.setGeometry(place)
        self._cover(taken[-1][1] + _BELOW if taken else 0)

    def _cover(self, covered: int) -> None:
        if covered != self._covered:
            self._covered = covered
            self.covered_height_changed.emit(covered)


class CenteredCard(_Cards):
    """Places a card in the middle of an area."""

    def __init__(self, card: QWidget, parent: QObject) -> None:
        super().__init__((card,), parent)

    def _place(self) -> None:
        (card,) = self._cards
        if not card.isHidden():
            place = QRect(self._area.topLeft(), self._size(card, _QUESTION))
            place.moveCenter(self._area.center())
            place.moveTop(max(place.top(), self._area.top()))
            card.setGeometry(place)


def _park(card: QWidget) -> None:
    """Move a hidden card out of its parent.

    Otherwise it counts as under a pointer that rests where it was, until the pointer moves.
    """
    card.move(-card.width(), -card.height())


def _lowest_free(taken: Sequence[tuple[int, int]], height: int) -> int:
    """Return the start of the lowest gap of `height` between sorted ranges."""
    lift = 0
    for start, end in taken:
        if lift + height <= start:
            break
        lift = max(lift, end)
    return lift
