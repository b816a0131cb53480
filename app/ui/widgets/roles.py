"""Changes how the theme shows a widget that is visible already."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def show_role(widget: QWidget, role: str) -> None:
    """Show a widget as the theme shows those with a role; "" for none."""
    if (widget.property("role") or "") != role:
        widget.setProperty("role", role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
