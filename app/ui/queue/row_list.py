"""The list of the queue's rows: selected with mouse and keys, moved by dragging."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QPoint, QRect, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QToolButton, QWidget

from app.ui.queue.delegate import RowDelegate
from app.ui.queue.row_model import ROW, RowModel
from app.ui.queue.rows import Row
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import scaled
from app.ui.widgets.toolbar import tool_button
from utils.translation.texts import mark, tr

EMPTY = mark("Drop pictures, films or folders here")
EMPTY_MORE = mark("or add them with the buttons above. Nothing runs before you press Start.")


class RowList(QListView):
    """Shows the rows of `model`; `menu` lists the context menu's actions, None for a separator.

    Args:
        offer: An action whose button stands in the empty list while it is enabled.
    """

    def __init__(
        self,
        model: RowModel,
        menu: Sequence[QAction | None],
        offer: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._menu, self._offer = menu, offer
        self.offer_button: QToolButton = tool_button(offer, self, words=True)
        self.offer_button.setProperty("role", "primary")
        # Its icon would have the color of icons beside words, not of those on the accent.
        self.offer_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.offer_button.hide()
        for changed in (model.rowsInserted, model.rowsRemoved, model.modelReset, offer.changed):
            changed.connect(self._update_offer)
        self.setModel(model)
        self.setItemDelegate(RowDelegate(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDragDropOverwriteMode(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._pop_up)
        self.setAccessibleName(tr("Entries of the queue"))
        self.setToolTip(tr("Drag entries to change their order"))
        self.verticalScrollBar().setToolTip(tr("Scroll the queue"))
        self._update_offer()

    def keep_free(self, height: int) -> None:
        """Keep the bottom `height` pixels free of rows; no row moves unless the last is shown."""
        self.setViewportMargins(0, 0, 0, height)

    def chosen(self) -> list[Row]:
        indexes = sorted(self.selectionModel().selectedRows(), key=lambda index: index.row())
        return [index.data(ROW) for index in indexes]

    def choose(self, numbers: Sequence[int]) -> None:
        """Select the rows of jobs, and scroll to the first."""
        model = self.model()
        assert isinstance(model, RowModel)
        indexes = [model.index(row) for number in numbers if (row := model.row_of(number)) >= 0]
        if not indexes:
            self.clearSelection()
            return
        chosen = QItemSelection()
        for index in indexes:
            chosen.select(index, index)
        flag = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(indexes[0], flag.NoUpdate)
        # Selects all together, to emit one signal.
        self.selectionModel().select(chosen, flag.ClearAndSelect)
        self.scrollTo(indexes[0])

    def _update_offer(self, *_: object) -> None:
        """Show the offer below the words of the empty list."""
        button = self.offer_button
        button.setAccessibleName(self._offer.text().rstrip("."))
        button.setVisible(self._offer.isEnabled() and not self.model().rowCount())
        place = QRect(QPoint(), button.sizeHint())
        place.moveCenter(self.viewport().geometry().center())
        button.setGeometry(place.translated(0, 3 * self.fontMetrics().height() + SPACE))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_offer()

    def event(self, event: QEvent) -> bool:
        """Keep the key that selects all rows, which the window uses for another action."""
        selects = (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.matches(QKeySequence.StandardKey.SelectAll)
        )
        if selects and self.model().rowCount():
            event.accept()
            return True
        return super().event(event)

    def _pop_up(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for action in self._menu:
            menu.addSeparator() if action is None else menu.addAction(action)
        menu.popup(self.viewport().mapToGlobal(place))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.model().rowCount():
            return
        painter = QPainter(self.viewport())
        area = self.viewport().rect()
        painter.setFont(scaled(self.font(), 1.35, bold=True))
        painter.setPen(self.palette().text().color())
        height = painter.fontMetrics().height()
        line = area.adjusted(0, 0, 0, -height)
        painter.drawText(line, Qt.AlignmentFlag.AlignCenter, tr(EMPTY))
        painter.setFont(scaled(self.font(), 1.0))
        painter.setPen(self.palette().placeholderText().color())
        below = area.adjusted(0, height, 0, 0)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, tr(EMPTY_MORE))
        painter.end()
