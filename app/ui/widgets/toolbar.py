"""The toolbar: frequent commands, the views, and the menu of all commands."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QStyleOptionToolButton,
    QToolButton,
    QWidget,
)

from app.ui.layouts import fill
from app.ui.theme.icons import tinted
from app.ui.theme.tokens import SPACE
from app.ui.widgets.main_menu import main_menu

_LEFT = ("wall", "open", "snapshot", "record", "virtual_camera", "queue")
_TOLD = ("train", "queue")  # show their progress beside their icons; training, only then
_VIEWS = ("view_styled", "view_split", "view_compare")
_RIGHT = ("panel",)
_ALONE = Qt.ToolButtonStyle.ToolButtonIconOnly
_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_WORD = Qt.ToolButtonStyle.ToolButtonTextOnly
# Buttons lose their words in this order; then progress does, then the views become icons.
_FOLDING = ("queue", "virtual_camera", "record", "snapshot", "open", "wall", "panel")
_STEPS = len(_FOLDING) + 2
_ICON = 20  # px


class Toolbar(QFrame):
    """The toolbar built from `actions`; its menus open below their buttons.

    In a narrow window, it folds in steps: one button after another shows its icon without words,
    and the views do so last. All buttons stay visible.
    """

    def __init__(
        self,
        actions: Mapping[str, QAction],
        sources: QMenu,
        styles: QMenu,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.menu = main_menu(actions, styles, self)
        self._sources = sources
        self._telling: set[str] = set()  # keys of _TOLD whose progress is visible
        self._folded = 0  # number of folded steps
        self._words = {key: actions[key].iconText() for key in _TOLD}
        self._buttons = {
            key: tool_button(actions[key], self, words=True)
            for key in dict.fromkeys((*_LEFT, *_TOLD, *_RIGHT))
        }
        for button in self._buttons.values():
            button.setAccessibleName(button.text())  # the words on screen, if there is room
        self._buttons["train"].hide()
        left = (self._buttons[key] for key in dict.fromkeys((*_LEFT, *_TOLD)))
        right = (self._buttons[key] for key in _RIGHT)
        self._menu_button = tool_button(actions["menu"], self)
        segments = self._segments_frame = self._segments(actions)
        margins = (SPACE, SPACE // 2, SPACE, SPACE // 2)
        row = fill(QHBoxLayout(self), margins=margins, spacing=SPACE // 2)
        fill(row, *left, SPACE, None, segments, None, SPACE, *right, self._menu_button)

    def _segments(self, actions: Mapping[str, QAction]) -> QFrame:
        frame = QFrame(self)
        frame.setObjectName("segments")
        self._views = [
            tool_button(actions[key], frame, words=True, kind=_ViewButton) for key in _VIEWS
        ]
        for each in self._views:
            each.setToolButtonStyle(_WORD)
        fill(QHBoxLayout(frame), *self._views, margins=(2, 2, 2, 2), spacing=2)
        return frame

    def button(self, key: str) -> QToolButton:
        """Return the button of an action; raise KeyError if the toolbar has none."""
        return self._buttons[key]

    # Folding

    def minimumSizeHint(self) -> QSize:
        return QSize(self._needed_widths()[-1], super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        needed = self._needed_widths()
        fits = (count for count, width in enumerate(needed) if width <= self.width())
        count = next(fits, _STEPS)
        if count != self._folded:  # folding requests a layout, which would call this again
            self._fold(count)

    def _fold(self, count: int) -> None:
        self._folded = count
        for key, button in self._buttons.items():
            set_text_shown(button, self._is_worded(key))
        for each in self._views:
            each.setToolButtonStyle(_WORD if count < _STEPS else _ALONE)
        self._segments_frame.updateGeometry()  # immediately, not in the next event loop iteration

    def _is_worded(self, key: str) -> bool:
        """Return whether a button shows its words, or its progress, in the current step."""
        if key in self._telling:
            return self._folded < _STEPS - 1
        return key in _FOLDING and self._folded <= _FOLDING.index(key)

    def _needed_widths(self) -> list[int]:
        """Return the required width after 0, 1, 2, ... steps."""
        row = self.layout()
        assert row is not None
        gains = (
            *(0 if key in self._telling else text_width(self._buttons[key]) for key in _FOLDING),
            sum(text_width(self._buttons[key]) for key in self._telling),
            sum(text_width(each) - 4 - _ICON for each in self._views),
        )
        whole = row.totalMinimumSize().width() + sum(gains[: self._folded])
        return [whole - sum(gains[:steps]) for steps in range(_STEPS + 1)]

    def show_training(self, words: str) -> None:
        """Show a button with `words`, the progress of training; "" hides it."""
        self._tell("train", words)
        self._buttons["train"].setVisible(bool(words))

    def show_queue(self, words: str) -> None:
        """Show `words` next to the queue icon; "" for none."""
        self._tell("queue", words)

    def _tell(self, key: str, words: str) -> None:
        button = self._buttons[key]
        if words:
            self._telling.add(key)
            button.defaultAction().setIconText(words)
        else:
            self._telling.discard(key)
            button.defaultAction().setIconText(self._words[key])
        set_text_shown(button, self._is_worded(key))
        button.setAccessibleDescription(words or button.toolTip())

    def pop_up_menu(self) -> None:
        _pop_up_below(self._menu_button, self.menu)

    def pop_up_sources(self) -> None:
        _pop_up_below(self._buttons["open"], self._sources)


class _ViewButton(QToolButton):
    """A button whose background is the accent while it is checked."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """Color a checked icon for this background; the action's own icon is for menus."""
        super().initStyleOption(option)
        if self.isChecked():
            on = QIcon.State.On
            lines = self.icon().pixmap(self.iconSize(), QIcon.Mode.Normal, on)
            option.icon = QIcon(tinted(lines, self.palette().highlightedText().color()))


def tool_button(
    action: QAction,
    parent: QWidget,
    *,
    words: bool = False,
    kind: type[QToolButton] = QToolButton,
) -> QToolButton:
    """Return a button for `action`, reachable by Tab and with an accessible name."""
    made = kind(parent)
    made.setDefaultAction(action)
    made.setAccessibleName(action.text().rstrip("."))
    made.setAccessibleDescription(action.toolTip())
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setIconSize(QSize(_ICON, _ICON))
    made.setAutoRaise(True)
    if words:
        made.setToolButtonStyle(_BESIDE)
    return made


def text_width(button: QToolButton) -> int:
    """Return the width that text adds to `button`, without changing it within a layout."""
    metrics = button.fontMetrics()
    text = metrics.size(Qt.TextFlag.TextShowMnemonic, button.text()).width()
    return 4 + text + 2 * metrics.horizontalAdvance(" ")


def set_text_shown(button: QToolButton, on: bool) -> None:
    """Show the text next to the icon, or only the icon."""
    button.setToolButtonStyle(_BESIDE if on else _ALONE)


def _pop_up_below(button: QToolButton, menu: QMenu) -> None:
    # popup() instead of exec(), so that the stream continues.
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
