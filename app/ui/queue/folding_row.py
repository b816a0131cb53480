"""A row of buttons that drop their text, but not their icons, if space is scarce."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.toolbar import set_text_shown, text_width


class FoldingRow(QWidget):
    """Lays out groups of buttons, the last group on the right.

    Args:
        groups: The buttons, each with an icon.
        wordless: The buttons that never show text.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[QToolButton]],
        wordless: Sequence[QToolButton],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._wordy = [each for group in groups for each in group if each not in wordless]
        self._folded = False
        *left, right = groups
        row = fill(QHBoxLayout(self), margins=(0, 0, 0, 0), spacing=SPACE // 2)
        for group in left:
            fill(row, *group, 2 * SPACE)
        fill(row, None, *right)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._whole() - self._gain(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        folded = self._whole() > self.width()
        if folded != self._folded:
            self._folded = folded
            for each in self._wordy:
                set_text_shown(each, not folded)
            self.updateGeometry()

    def _gain(self) -> int:
        return sum(map(text_width, self._wordy))

    def _whole(self) -> int:
        row = self.layout()
        assert row is not None
        return row.totalMinimumSize().width() + (self._gain() if self._folded else 0)
