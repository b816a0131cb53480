"""The slim bar at the top: the commands used most, the views, the menu of all commands."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton, QWidget

from app.ui.actions import ACTIONS, GROUPS
from app.ui.theme.tokens import SPACE

_LEFT = (
    ("open", "sources", "paste"),
    ("pause",),
    ("snapshot", "record", "save", "copy"),
    ("train",),
)
_VIEWS = ("view_styled", "view_split", "view_compare")
_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_ALONE = Qt.ToolButtonStyle.ToolButtonIconOnly
_STEPS = 3
_SPARE = ("paste", "copy", "help")  # go in the last step
_RIGHT = ("overlay", "gallery", "panel", "fullscreen", "help")


class Toolbar(QFrame):
    """Made of `actions`; `menu` and `sources` pop up under their buttons. Where it is narrow, the
    views fold to icons, then the other words go, then what the menu has as well."""

    def __init__(
        self, actions: Mapping[str, QAction], sources: QMenu, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.menu = _menu_of_everything(actions, self)
        self._training = False  # and words say how far
        self._folded = 0  # steps taken
        self._spare: list[QToolButton] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE, SPACE // 2, SPACE, SPACE // 2)
        row.setSpacing(2)
        for group in _LEFT:
            for key in group:
                made = tool_button(actions[key], self, words=key == "open")
                row.addWidget(made)
                if key in _SPARE:
                    self._spare.append(made)
                if key == "open":
                    self._open_button = made
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
            made = tool_button(actions[key], self)
            row.addWidget(made)
            if key in _SPARE:
                self._spare.append(made)
        self._menu_button = tool_button(actions["menu"], self)
        row.addWidget(self._menu_button)

    def _segments(self, actions: Mapping[str, QAction]) -> QFrame:
        frame = self._segments_frame = QFrame(self)
        frame.setObjectName("segments")
        row = QHBoxLayout(frame)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        self._views = [tool_button(actions[key], frame, words=True) for key in _VIEWS]
        for made in self._views:
            row.addWidget(made)
        return frame

    # Folding

    def minimumSizeHint(self) -> QSize:
        """With everything folded."""
        return QSize(self._needed()[-1], super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # words, icons or letters changed
            self._fit()
        return done

    def _fit(self) -> None:
        """Fold as little as the width allows."""
        needed = self._needed()
        fits = (count for count, width in enumerate(needed) if width <= self.width())
        count = next(fits, _STEPS)
        if count != self._folded:  # folding asks for a layout, which would ask for this again
            self._fold(count)

    def _fold(self, count: int) -> None:
        """Take the first `count` steps to a narrower bar."""
        self._folded = count
        for each in self._views:
            _show_words(each, count < 1)
        _show_words(self._open_button, count < 2)
        _show_words(self._train_button, count < 2 and self._training)
        for each in self._spare:
            each.setVisible(count < _STEPS)
        self._segments_frame.updateGeometry()  # at once, not when events are next handled

    def _needed(self) -> list[int]:
        """The width needed after no step, after one, after two..."""
        row = self.layout()
        assert row is not None
        gains = (
            sum(map(_width_of_words, self._views)),
            sum(map(_width_of_words, self._with_words)),
            sum(each.sizeHint().width() + row.spacing() for each in self._spare),
        )
        whole = row.totalMinimumSize().width() + sum(gains[: self._folded])
        return [whole - sum(gains[:steps]) for steps in range(_STEPS + 1)]

    @property
    def _with_words(self) -> list[QToolButton]:
        """What has words beside the views."""
        return [self._open_button, *([self._train_button] if self._training else [])]

    def show_training(self, words: str) -> None:
        """Write `words` beside the icon of training; "" when there is nothing to say."""
        self._training = bool(words)
        _show_words(self._train_button, self._training and self._folded < 2)
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
        made.setToolButtonStyle(_BESIDE)
    return made


def _width_of_words(button: QToolButton) -> int:
    """How much wider words make `button`, as QToolButton reckons it. Asking for both sizes would
    mean changing it, from within a layout that asks for the size."""
    metrics = button.fontMetrics()
    text = metrics.size(Qt.TextFlag.TextShowMnemonic, button.text()).width()
    return 4 + text + 2 * metrics.horizontalAdvance(" ")


def _show_words(button: QToolButton, on: bool) -> None:
    button.setToolButtonStyle(_BESIDE if on else _ALONE)


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
