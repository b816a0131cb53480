"""A text that covers the picture, without taking the mouse."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget


class PictureCover(QWidget):
    """Covers the picture while it has a text; transparent to the mouse.

    Args:
        name: The accessible name.
    """

    def __init__(self, picture: QWidget, name: str) -> None:
        super().__init__(picture)
        self._picture, self._text = picture, ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(name)
        picture.installEventFilter(self)
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        """Show a text, or "" to hide it."""
        self._text = text
        self.setAccessibleDescription(text)
        self.setVisible(bool(text))
        self.update()

    def showEvent(self, event: QEvent) -> None:
        self.setGeometry(self._picture.rect())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._picture.rect())
        return False
