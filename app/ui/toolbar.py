"""The slim bar at the top: the commands used most, the views, the menu of all commands."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton, QWidget

from app.ui.actions import ACTIONS, GROUPS
from app.ui.tokens import SPACE

_LEFT = (
    ("open", "sources", "paste"),
    ("pause",),
    ("snapshot", "record", "save", "copy"),
    ("train",),
)
_VIEWS = ("view_styled", "view_split", "view_compare")
_RIGHT = ("overlay", "gallery", "panel", "fullscreen", "help")


class Toolbar(QFrame):
    """Made of `actions`; `menu` and `sources` pop up under their buttons."""

    def __init__(
        self, actions: Mapping[str, QAction], sources: QMenu, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.menu = _menu_of_everything(actions, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE, SPACE // 2, SPACE, SPACE // 2)
        row.setSpacing(2)
        for group in _LEFT:
            for key in group:
                made = tool_button(actions[key], self, words=key == "open")
                row.addWidget(made)
                if key == "train":
                    self._train_button = made
                if key == "sources":
                    self.sources_button = made
                    self._sources = sources
            row.addSpacing(2 * SPACE)
        row.addStretch(1)
        row.addWidget(self._segments(actions))
        row.addStretch(1)
        for key in _RIGHT:
            row.addWidget(tool_button(actions[key], self))
        self._menu_button = tool_button(actions["menu"], self)
        row.addWidget(self._menu_button)

    def _segments(self, actions: Mapping[str, QAction]) -> QFrame:
        frame = QFrame(self)
        frame.setObjectName("segments")
        row = QHBoxLayout(frame)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for key in _VIEWS:
            row.addWidget(tool_button(actions[key], frame, words=True))
        return frame

    def show_training(self, words: str) -> None:
        """Write `words` beside the icon of training; "" when there is nothing to say."""
        beside, alone = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon,
            Qt.ToolButtonStyle.ToolButtonIconOnly,
        )
        self._train_button.setToolButtonStyle(beside if words else alone)
        if words:
            self._train_button.setText(words)
        self._train_button.setAccessibleDescription(words or self._train_button.toolTip())

    def pop_up_menu(self) -> None:
        _under(self._menu_button, self.menu)

    def pop_up_sources(self) -> None:
        _under(self.sources_button, self._sources)


def tool_button(action: QAction, parent: QWidget, *, words: bool = False) -> QToolButton:
    """A button for `action` that Tab reaches, with the action's name for screen readers."""
    made = QToolButton(parent)
    made.setDefaultAction(action)
    made.setAccessibleName(action.text().rstrip("."))
    made.setAccessibleDescription(action.toolTip())
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setIconSize(QSize(20, 20))
    made.setAutoRaise(True)
    if words:
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    return made


def _menu_of_everything(actions: Mapping[str, QAction], parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    for group in GROUPS:
        inner = menu.addMenu(group)
        inner.setToolTipsVisible(True)
        for entry in ACTIONS:
            if entry.group == group and entry.key != "menu":
                inner.addAction(actions[entry.key])
    return menu


def _under(button: QToolButton, menu: QMenu) -> None:
    # popup, not exec: the stream goes on while it is open.
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
