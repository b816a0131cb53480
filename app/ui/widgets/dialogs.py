"""The base of the small windows that can stay open beside the main window."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QHBoxLayout, QLayout, QPushButton, QVBoxLayout, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from utils.translation.texts import tr


class ModelessDialog(QDialog):
    """A dialog that blocks nothing."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(False)

    def bring_up(self) -> None:
        """Show the dialog in front of the other windows."""
        self.show()
        self.raise_()
        self.activateWindow()

    def make_room(self) -> None:
        """Grow until buttons and wrapped texts fit, which a window does not do by itself."""
        layout = self.layout()
        if layout is not None:
            for each in self.findChildren(QLayout):  # they keep sizes from before the text
                each.invalidate()
            layout.activate()
            width = max(self.width(), layout.totalMinimumSize().width())
            self.resize(width, max(self.height(), layout.totalHeightForWidth(width)))

    def close_button(self, text: str, *, on_enter: bool = False) -> QPushButton:
        """Return a button that closes the dialog; Enter presses it only if `on_enter` is set."""
        made = make_button(text, tr("Close this window (Esc)"), self.reject)
        made.setAutoDefault(on_enter)
        return made


def lay_out_dialog(
    dialog: QDialog, content: QWidget, *buttons: QPushButton, side: int = 2 * SPACE
) -> None:
    """Lay out a dialog: its content, and the buttons below, `side` pixels from the right.

    They stand in for a QDialogButtonBox, whose icons are black in every theme.
    """
    foot = fill(QHBoxLayout(), None, *buttons, margins=(side, 0, side, 0), spacing=SPACE)
    fill(QVBoxLayout(dialog), (content, 1), foot, margins=(0, 0, 0, 2 * SPACE))
