"""A line below controls that tells how the last command went."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.ui.widgets.remark_label import RemarkLabel
from app.ui.widgets.roles import show_role


class StatusLine(RemarkLabel):
    """A remark that turns into a fault; screen readers read faults and answers at once."""

    def show_text(self, text: str) -> None:
        """Show a state, for which screen readers interrupt nothing; "" for none."""
        self._show(text, "muted")

    def show_answer(self, text: str) -> None:
        """Show that a command succeeded."""
        self._show(text, "muted")
        self._announce(text)

    def show_fault(self, text: str) -> None:
        """Show why a command failed, or what is missing."""
        self._show(text, "fault")
        self._announce(text)

    def _show(self, text: str, role: str) -> None:
        super().show_text(text)
        show_role(self, role)

    def _announce(self, text: str) -> None:
        if self.isVisible():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
