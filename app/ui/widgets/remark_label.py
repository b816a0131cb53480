"""A muted label for a remark about a control."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


class RemarkLabel(QLabel):
    """Wrapped plain text; `reserved` keeps an empty line's height, so that no control moves."""

    def __init__(self, *, reserved: bool = True) -> None:
        super().__init__()
        self._reserved = reserved
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "muted")
        self.show_text("")

    def show_text(self, text: str) -> None:
        """Show `text`; "" for none."""
        self.setText(text or "\N{NO-BREAK SPACE}" * self._reserved)
        self.setVisible(bool(text) or self._reserved)
