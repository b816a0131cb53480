"""A muted label for a remark about a control."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


class RemarkLabel(QLabel):
    """Wrapped plain text; hidden while it is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "muted")
        self.hide()

    def show_text(self, text: str) -> None:
        """Show `text`; hide the label if it is empty."""
        self.setText(text)
        self.setVisible(bool(text))
