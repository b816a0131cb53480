"""The toolbar: frequent commands, the views, and the menu of all commands."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton, QWidget

from app.ui.actions import ACTIONS, GROUPS
from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from utils.translation.texts import tr

_LEFT = (
    ("open", "sources", "paste"),
    ("pause",),
    ("snapshot", "record", "virtual_camera", "save", "copy"),
    ("train", "queue"),
)
_TOLD = ("train", "queue")  # show their progress next to their icons
_VIEWS = ("view_styled", "view_split", "view_compare")
_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_ALONE = Qt.ToolButtonStyle.ToolButtonIconOnly
# Buttons on the left that show text if space allows, in order of priority
_WORDED = (
    *("sources", "record", "snapshot", "train", "queue"),
    *("virtual_camera", "save", "pause", "paste", "copy"),
)
_FOLDING = tuple(reversed(_WORDED))
_STEPS = len(_WORDED) + 3
_FOLDED_LAST = ("paste", "copy", "help")  # hidden in the last step
_RIGHT = ("overlay", "gallery", "panel", "fullscreen", "help")


class Toolbar(QFrame):
    """The toolbar built from `actions`; its menus open below their buttons.

    In a narrow window, it folds in steps: first the button texts, one after another, then the texts
    of the views, then other texts, then buttons whose commands are also in the menu.
    """

    def __init__(
        self, actions: Mapping[str, QAction], sources: QMenu, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.menu = _main_menu(actions, self)
        self._told: dict[str, QToolButton] = {}
        self._telling: set[str] = set()  # keys of _TOLD whose progress is visible
        self._folded = 0  # number of folded steps
        self._spare: list[QToolButton] = []
        self._worded: dict[str, QToolButton] = {}
        self._words = {key: actions[key].iconText() for key in _TOLD}
        margins = (SPACE, SPACE // 2, SPACE, SPACE // 2)
        row = fill(QHBoxLayout(self), margins=margins, spacing=2)
        for group in _LEFT:
            for key in group:
                made = tool_button(actions[key], self, words=True)
                if key in _WORDED:
                    self._worded[key] = made
                row.addWidget(made)
                if key in _FOLDED_LAST:
                    self._spare.append(made)
                if key == "open":
                    self._open_button = made
                if key in _TOLD:
                    self._told[key] = made
                if key == "sources":
                    self.sources_button = made
                    self._sources = sources
            row.addSpacing(2 * SPACE)
        fill(row, None, self._segments(actions), None)
        for key in _RIGHT:
            made = tool_button(actions[key], self)
            row.addWidget(made)
            if key in _FOLDED_LAST:
                self._spare.append(made)
        self._menu_button = tool_button(actions["menu"], self)
        row.addWidget(self._menu_button)

    def _segments(self, actions: Mapping[str, QAction]) -> QFrame:
        frame = self._segments_frame = QFrame(self)
        frame.setObjectName("segments")
        self._views = [tool_button(actions[key], frame, words=True) for key in _VIEWS]
        fill(QHBoxLayout(frame), *self._views, margins=(2, 2, 2, 2), spacing=2)
        return frame

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
        for step, key in enumerate(_FOLDING):
            set_text_shown(self._worded[key], count <= step or self._tells(key))
        for each in self._views:
            set_text_shown(each, count < _STEPS - 2)
        set_text_shown(self._open_button, count < _STEPS - 1)
        for each in self._spare:
            each.setVisible(count < _STEPS)
        self._segments_frame.updateGeometry()  # immediately, not in the next event loop iteration

    def _needed_widths(self) -> list[int]:
        """Return the required width after 0, 1, 2, ... steps."""
        row = self.layout()
        assert row is not None
        gains = (
            *(0 if key in self._telling else text_width(self._worded[key]) for key in _FOLDING),
            sum(map(text_width, self._views)),
            sum(map(text_width, self._text_buttons)),
            sum(each.sizeHint().width() + row.spacing() for each in self._spare),
        )
        whole = row.totalMinimumSize().width() + sum(gains[: self._folded])
        return [whole - sum(gains[:steps]) for steps in range(_STEPS + 1)]

    @property
    def _text_buttons(self) -> list[QToolButton]:
        return [self._open_button, *(self._told[key] for key in sorted(self._telling))]

    def show_training(self, words: str) -> None:
        """Show `words` next to the training icon; "" for none."""
        self._tell("train", words)

    def show_queue(self, words: str) -> None:
        """Show `words` next to the queue icon; "" for none."""
        self._tell("queue", words)

    def _tells(self, key: str) -> bool:
        """Return whether the progress of `key` is visible next to its icon."""
        return key in self._telling and self._folded < _STEPS - 1

    def _tell(self, key: str, words: str) -> None:
        button = self._told[key]
        if words:
            self._telling.add(key)
            button.defaultAction().setIconText(words)
        else:
            self._telling.discard(key)
            button.defaultAction().setIconText(self._words[key])
        set_text_shown(button, self._tells(key) or self._folded <= _FOLDING.index(key))
        button.setAccessibleDescription(words or button.toolTip())

    def pop_up_menu(self) -> None:
        _pop_up_below(self._menu_button, self.menu)

    def pop_up_sources(self) -> None:
        _pop_up_below(self.sources_button, self._sources)


def tool_button(action: QAction, parent: QWidget, *, words: bool = False) -> QToolButton:
    """Return a button for `action`, reachable by Tab and with an accessible name."""
    made = QToolButton(parent)
    made.setDefaultAction(action)
    made.setAccessibleName(action.text().rstrip("."))
    made.setAccessibleDescription(action.toolTip())
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setIconSize(QSize(20, 20))
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


def _main_menu(actions: Mapping[str, QAction], parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    for group in GROUPS:
        inner = menu.addMenu(tr(group))
        inner.setToolTipsVisible(True)
        for entry in ACTIONS:
            if entry.group == group and entry.key != "menu":
                inner.addAction(actions[entry.key])
    return menu


def _pop_up_below(button: QToolButton, menu: QMenu) -> None:
    # popup() instead of exec(), so that the stream continues.
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
