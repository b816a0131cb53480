"""Shows a style's source painting, license and training."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog
from app.ui.window_geometry import WindowGeometry
from utils.translation.joints import labeled
from utils.translation.texts import tr

TEXT_WIDTH = 320  # wrap width in pixels


class AboutStyle(ModelessDialog):
    """A modeless dialog about one style at a time."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("", parent)
        self._picture, self._content = QLabel(self), QWidget(self)
        self._row = fill(QHBoxLayout(), self._picture, (self._content, 1), spacing=3 * SPACE)
        self._row.setAlignment(self._picture, Qt.AlignmentFlag.AlignTop)
        foot = fill(QHBoxLayout(), None, self.close_button(tr("&Close"), on_enter=True))
        margins = (3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)
        fill(QVBoxLayout(self), (self._row, 1), foot, margins=margins)
        WindowGeometry(self)

    def show_facts(
        self, title: str, picture: QPixmap | None, facts: Sequence[tuple[str, str]]
    ) -> None:
        self.setWindowTitle(tr("About {title}", title=title))
        self._picture.setVisible(picture is not None)
        if picture is not None:
            self._picture.setPixmap(picture)
            self._picture.setAccessibleName(tr("The picture of {title}", title=title))
        content = QWidget(self)
        form = QFormLayout(content)
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(SPACE)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        for label, text in facts:
            value = QLabel(text)
            value.setTextFormat(Qt.TextFormat.PlainText)
            value.setWordWrap(True)
            value.setMinimumWidth(TEXT_WIDTH)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setAccessibleName(labeled(label, text))
            form.addRow(label, value)
        self._row.replaceWidget(self._content, content)
        self._content.deleteLater()
        self._content = content
        self.adjustSize()
        self.bring_up()
