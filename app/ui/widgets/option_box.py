"""A drop-down list whose choices can have remarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QPainter, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import scaled
from utils.translation.joints import labeled

_VALUE = Qt.ItemDataRole.UserRole
_REMARK = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class Choice:
    """A value, a title and an optional remark; a `reason` disables it and replaces the remark."""

    value: Any
    title: str
    remark: str = ""
    reason: str = ""


class _RemarkDelegate(QStyledItemDelegate):
    """Paints the remark, wrapped, below the title."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        font = option.font
        title = QFontMetrics(font)
        remark = str(index.data(_REMARK) or "")
        below = self._remark_rect(self._width(), font, remark).height() + 2 if remark else 0
        width = title.horizontalAdvance(str(index.data())) + 3 * SPACE
        return QSize(width, title.height() + below + SPACE)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        palette = option.palette
        font = option.font
        selected = bool(state & QStyle.StateFlag.State_Selected)
        enabled = bool(state & QStyle.StateFlag.State_Enabled)
        painter.save()
        if selected:
            painter.fillRect(area, palette.highlight())
        ink = palette.highlightedText() if selected else palette.text()
        painter.setPen(ink.color() if enabled else palette.placeholderText().color())
        inner = area.adjusted(SPACE, SPACE // 2, -SPACE, -SPACE // 2)
        painter.setFont(font)
        painter.drawText(inner, Qt.AlignmentFlag.AlignTop, str(index.data()))
        if remark := str(index.data(_REMARK) or ""):
            faint = palette.highlightedText() if selected else palette.placeholderText()
            painter.setPen(faint.color())
            painter.setFont(scaled(font, 0.9))
            below = inner.adjusted(0, QFontMetrics(font).height() + 2, 0, 0)
            painter.drawText(below, Qt.TextFlag.TextWordWrap, remark)
        painter.restore()

    def _width(self) -> int:
        parent = self.parent()
        return parent.width() if isinstance(parent, QWidget) else 0

    def _remark_rect(self, width: int, font: Any, remark: str) -> QRect:
        limit = QRect(0, 0, max(120, width - 2 * SPACE - 4), 10_000)  # 4: the frame of the list
        return QFontMetrics(scaled(font, 0.9)).boundingRect(limit, Qt.TextFlag.TextWordWrap, remark)


class OptionBox(QComboBox):
    """A combo box; `picked(value)` is emitted only for the user's choice, not by `show_choice`.

    Signals:
        picked: The value chosen by the user.
        focused: The box got the focus; a click or key that opens its list follows.
    """

    picked = Signal(object)
    focused = Signal()

    def __init__(self, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(tip)
        # Long titles (the name of a GPU) widen the list, not the panel.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.activated.connect(lambda row: self.picked.emit(self.itemData(row, _VALUE)))

    def set_options(self, choices: Iterable[Choice]) -> None:
        """Replace the choices; the current one stays selected if it is among them."""
        shown = self.currentData(_VALUE)
        self.clear()
        for row, choice in enumerate(choices):
            self.addItem(choice.title, choice.value)
            remark = choice.reason or choice.remark
            self.setItemData(row, remark, _REMARK)
            tip = labeled(choice.title, remark) if remark else choice.title
            model = self.model()
            if choice.reason and isinstance(model, QStandardItemModel):
                model.item(row).setEnabled(False)
            self.setItemData(row, tip, Qt.ItemDataRole.ToolTipRole)
        self.show_choice(shown)
        if self.view().isVisible():  # still as high as the previous choices
            self.hidePopup()
            self.showPopup()

    def show_choice(self, value: object) -> None:
        """Select the choice with this value, or none if it does not exist."""
        rows = (row for row in range(self.count()) if self.itemData(row, _VALUE) == value)
        self.setCurrentIndex(next(rows, -1))

    @property
    def remark(self) -> str:
        return str(self.currentData(_REMARK) or "")

    def showPopup(self) -> None:
        """Open the list at the height of its rows."""
        # Set late; otherwise every theme change would measure the remarks of all hidden lists.
        if not isinstance(self.itemDelegate(), _RemarkDelegate):
            self.setItemDelegate(_RemarkDelegate(self))
        super().showPopup()
        self._show_all_rows()

    def _show_all_rows(self) -> None:
        """Make the list as high as its rows, if the screen allows it, and put it below the box.

        Qt measures it with the border of an unfocused box: 2 pixels too few for a focused one, and
        the resulting scroll arrows take another 10.
        """
        view, rows = self.view(), self.count()
        whole, screen = view.window(), self.screen().availableGeometry()
        heights = (
            view.sizeHintForIndex(self.model().index(row, 0)).height() for row in range(rows)
        )
        needed = sum(heights)
        if needed + 4 * SPACE > screen.height():
            return  # Qt has limited it to the screen, and it needs the arrows
        for child in whole.children():
            if isinstance(child, QWidget) and child is not view:
                child.hide()
        layout = whole.layout()
        assert layout is not None
        layout.activate()
        place = whole.geometry()
        place.setHeight(place.height() + needed - view.viewport().height())
        place.moveTop(self._top_of(place.height(), screen))
        whole.setGeometry(place)

    def _top_of(self, height: int, screen: QRect) -> int:
        """Return where a list begins: below the box, above it, or where it fits on the screen."""
        below = self.mapToGlobal(QPoint(0, self.height())).y()
        above = self.mapToGlobal(QPoint(0, 0)).y() - height
        if below + height <= screen.bottom() + 1:
            return below
        return above if above >= screen.top() else screen.bottom() + 1 - height

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ignore the wheel, so that the panel scrolls."""
        event.ignore()  # scrolling the panel must not change the controls under the pointer
