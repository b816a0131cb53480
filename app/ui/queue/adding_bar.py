"""Options for added files: styles, the results folder, and existing results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QHBoxLayout, QMenu, QToolButton, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.toolbar import tool_button
from utils.text import printable
from utils.translation.texts import tr

ON_SCREEN = ""  # the look of the picture, instead of a style's key
MAX_WORDS = 28  # characters of a name on a button


@dataclass(frozen=True, slots=True)
class StyleName:
    """Key and title of a selectable style."""

    key: str
    title: str


class StylesMenu(QMenu):
    """A menu of styles that stays open while the user ticks them; emits `chosen(keys)`."""

    chosen = Signal(object)  # tuple[str, ...]; empty for the look on screen

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Styles for new entries"))
        self._keys: tuple[str, ...] = ()

    def fill(self, styles: Sequence[StyleName], keys: Sequence[str], on_screen: str) -> None:
        """Offer the styles; no ticked `keys` mean the look `on_screen`, a title."""
        self.clear()
        known = {style.key for style in styles}
        self._keys = tuple(key for key in keys if key in known)
        self._add(ON_SCREEN, tr("As on screen: {look}", look=on_screen), not self._keys)
        self.addSeparator()
        for style in styles:
            self._add(style.key, style.title, style.key in self._keys)

    def _add(self, key: str, title: str, checked: bool) -> None:
        action = self.addAction(title.replace("&", "&&"))
        action.setData(key)
        action.setCheckable(True)
        action.setChecked(checked)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tick a style and stay open."""
        action = self.actionAt(event.position().toPoint())
        if action is not None and action.isCheckable():
            self._tick(action)
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Tick a style with Space or Enter and stay open; Esc closes the menu."""
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        action = self.activeAction()
        if event.key() in keys and action is not None and action.isCheckable():
            self._tick(action)
        else:
            super().keyPressEvent(event)

    def _tick(self, action: QAction) -> None:
        key = action.data()
        if key == ON_SCREEN:
            self._keys = ()
        elif key in self._keys:
            self._keys = tuple(each for each in self._keys if each != key)
        else:
            self._keys = (*self._keys, key)
        for each in self.actions():
            if each.isCheckable():
                ticked = each.data() in self._keys or (each.data() == ON_SCREEN and not self._keys)
                each.setChecked(ticked)
        self.chosen.emit(self._keys)


class AddingBar(QWidget):
    """The bar built from `actions`, on one line if it fits, otherwise on two."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.add = tool_button(actions["add"], self, words=True)
        self.add_folder = tool_button(actions["add_folder"], self, words=True)
        self.styles = tool_button(actions["styles"], self, words=True)
        self.output = tool_button(actions["output"], self, words=True)
        self.menu = StylesMenu(self)
        self.skip = _check(actions["skip"], self)
        self.watch = _check(actions["watch"], self)
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        fill(self._rows, margins=(0, 0, 0, 0), spacing=SPACE)
        self._lines: list[QHBoxLayout] = []
        for widgets in (
            (self.add, self.add_folder, self.styles),
            (self.output, self.skip, self.watch),
        ):
            spacing = SPACE if self.add in widgets else 2 * SPACE
            self._lines.append(fill(QHBoxLayout(), *widgets, spacing=spacing))
            self._rows.addLayout(self._lines[-1])
        self._rows.addStretch(1)
        for line in self._lines:
            line.addStretch(1)

    def show_styles(self, titles: Sequence[str]) -> None:
        first = printable(titles[0], MAX_WORDS) if titles else ""
        words = tr("Style: {title}", title=first)
        if len(titles) != 1:
            words = tr("Style: {n} styles", n=len(titles))
        self._name("styles", self.styles, words, ", ".join(titles))

    def show_output(self, folder: Path) -> None:
        words = tr("Into: {folder}", folder=printable(folder.name, MAX_WORDS))
        self._name("output", self.output, words, str(folder))

    def show_watched(self, folder: Path | None) -> None:
        shown = "" if folder is None else printable(folder.name, MAX_WORDS)
        name = tr("Watching {folder}", folder=shown) if shown else tr("Watch a folder")
        self._actions["watch"].setChecked(folder is not None)
        self.watch.setText(name)
        self.watch.setAccessibleName(name)
        self.watch.setAccessibleDescription("" if folder is None else str(folder))

    def _name(self, key: str, button: QToolButton, words: str, whole: str) -> None:
        # The button copies its text from the action whenever that changes.
        self._actions[key].setIconText(words.replace("&", "&&"))
        button.setAccessibleName(words)
        button.setAccessibleDescription(whole)

    def pop_up_styles(self) -> None:
        self.menu.popup(self.styles.mapToGlobal(self.styles.rect().bottomLeft()))

    def minimumSizeHint(self) -> QSize:
        width = max(line.minimumSize().width() for line in self._lines)
        return QSize(width, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fold()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fold()
        return done

    def _fold(self) -> None:
        needed = sum(line.sizeHint().width() for line in self._lines) + 2 * SPACE
        one = QBoxLayout.Direction.LeftToRight
        wanted = one if needed <= self.width() else QBoxLayout.Direction.TopToBottom
        if wanted != self._rows.direction():
            self._rows.setDirection(wanted)
            self.updateGeometry()


def _check(action: QAction, parent: QWidget) -> QCheckBox:
    made = QCheckBox(action.text(), parent)
    made.setToolTip(action.toolTip())
    made.setAccessibleName(action.text())
    made.setChecked(action.isChecked())
    made.clicked.connect(lambda: action.trigger())
    action.toggled.connect(made.setChecked)
    return made
