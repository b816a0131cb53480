"""The bar above the tiles of the wall, and the row of sources below them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.theme.icons import application_icon, icon
from app.ui.theme.tokens import SPACE, Tokens
from app.ui.wall.page_dots import PageDots
from app.ui.widgets.roles import show_role
from utils.translation.texts import mark, tr

HEADLINE = mark("Choose a painting")
BACK = mark("Back to the picture")
DROP_TEXT = mark("or drop anything here")
# The buttons below the tiles: keys of actions, with the icon and the word of each.
SOURCES = {
    "open_camera": ("camera", mark("Camera")),
    "open_photo": ("photo", mark("Photos")),
    "open_film": ("film", mark("Film")),
    "style_picture": ("add", mark("Your own painting")),
}
_PRIMARY = "open_camera"
_SIDE = 5 * SPACE  # px, of the smallest target


class WallBar(QWidget):
    """Shows the headline, the source, the page, and the ways to every command."""

    page_wanted = Signal()  # the next page

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("wallBar")
        logo = QLabel(self)
        logo.setPixmap(application_icon().pixmap(QSize(24, 24)))
        self.headline, self._source = QLabel(tr(HEADLINE), self), QLabel(self)
        self.headline.setProperty("role", "title")
        self._source.setProperty("role", "muted")
        self._source.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.back_button = described(
            QPushButton(f" {tr(BACK)}", self),
            tr(BACK),
            tr("Show the picture in its present style again ({key})", key=_key_of(actions["wall"])),
        )
        self.back_button.setObjectName("quiet")
        self.back_button.clicked.connect(actions["wall"].trigger)
        self.back_button.hide()
        self.dots = PageDots(self)
        self.dots.clicked.connect(self.page_wanted)
        self.find_button = QPushButton(self)
        self.find_button.setObjectName("quiet")
        self.find_button.setText(tr("Find anything  {key}", key=_key_of(actions["palette"])))
        self.find_button.clicked.connect(actions["palette"].trigger)
        tip = tr("Find every command, style, setting and page by words")
        described(self.find_button, tr("Find anything"), tip)
        self.menu_button = described(
            QToolButton(self), tr("Menu"), actions["menu"].toolTip() or tr("Menu")
        )
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.menu_button.setFixedSize(_SIDE, _SIDE)
        self.menu_button.clicked.connect(actions["menu"].trigger)
        for button in (self.back_button, self.find_button, self.dots):
            button.setMinimumHeight(_SIDE)
        parts = (
            logo,
            self.headline,
            (self._source, 1),
            self.back_button,
            self.dots,
            self.find_button,
            self.menu_button,
        )
        margins = (2 * SPACE, SPACE, SPACE, SPACE)
        fill(QHBoxLayout(self), *parts, margins=margins, spacing=SPACE * 3 // 2)

    def show_source(self, text: str) -> None:
        described(self._source, text, text)
        self._source.setText(text)

    def pop_up(self, menu: QMenu) -> None:
        menu.popup(self.menu_button.mapToGlobal(QPoint(0, self.menu_button.height())))

    def show_icons(self, tokens: Tokens) -> None:
        self.menu_button.setIcon(icon("menu", tokens))
        self.find_button.setIcon(icon("search", tokens))
        self.back_button.setIcon(icon("previous", tokens))


def _key_of(action: QAction) -> str:
    return action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)


class SourceRow(QWidget):
    """Has a button with a word for each way to another source, and a hint that drops work."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("wallSources")
        self.buttons: dict[str, QPushButton] = {}
        for key, (_, word) in SOURCES.items():
            button = described(QPushButton(f" {tr(word)}", self), tr(word), actions[key].toolTip())
            button.setIconSize(QSize(20, 20))
            button.setAutoDefault(True)  # outside dialogs, Qt's buttons ignore Enter by default
            button.clicked.connect(actions[key].trigger)
            self.buttons[key] = button
        self._tokens: Tokens | None = None
        self._fresh = True
        self.show_fresh(fresh=True)
        self.hint, self._balance = QLabel(tr(DROP_TEXT), self), QLabel(self)
        self.hint.setProperty("role", "muted")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for side in (self.hint, self._balance):
            side.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        parts = (self._balance, 1), *self.buttons.values(), (self.hint, 1)
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE * 3 // 2)
        self._row = fill(QHBoxLayout(self), *parts, margins=margins, spacing=SPACE * 3 // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the hint where it would be cut off."""
        super().resizeEvent(event)
        words = sum(each.sizeHint().width() + self._row.spacing() for each in self.buttons.values())
        room = (self.width() - words) // 2 - 3 * SPACE
        needed = self.hint.fontMetrics().horizontalAdvance(tr(DROP_TEXT))
        self.hint.setText(tr(DROP_TEXT) if needed <= room else "")

    def show_fresh(self, *, fresh: bool) -> None:
        """Recommend the camera while the user has opened nothing of his own."""
        self._fresh = fresh
        show_role(self.buttons[_PRIMARY], "primary" if fresh else "")
        if self._tokens is not None:
            self.show_icons(self._tokens)

    def show_icons(self, tokens: Tokens) -> None:
        self._tokens = tokens
        primary = replace(tokens, text=tokens.on_accent)
        for key, (name, _) in SOURCES.items():
            bright = key == _PRIMARY and self._fresh
            self.buttons[key].setIcon(icon(name, primary if bright else tokens))
