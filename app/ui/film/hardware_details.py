"""A folded text that says why the graphics hardware cannot encode a film."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QToolButton, QVBoxLayout, QWidget

from app.ui.layouts import described, fill
from app.ui.viewport.text_painting import breakable
from utils.translation.texts import tr


class HardwareDetails(QWidget):
    """A heading that unfolds the answers of the drivers; hidden if there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = described(
            QToolButton(), tr("Why not hardware?"), tr("Show or hide the answers of the drivers")
        )
        self.button.setText(tr("&Why not hardware?"))
        self.button.setCheckable(True)
        self.button.setAutoRaise(True)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setObjectName("fold")
        self.text = QLabel()
        self.text.setProperty("role", "muted")
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=0)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.text)
        self.button.toggled.connect(self._unfold)
        self._unfold(False)
        self.show_details("")

    def show_details(self, details: str) -> None:
        """Offer the answers of the drivers, folded; "" hides them."""
        self.text.setText(breakable(details))
        self.setVisible(bool(details))
        if not details:
            self.button.setChecked(False)

    def _unfold(self, on: bool) -> None:
        self.button.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow)
        self.text.setVisible(on)
