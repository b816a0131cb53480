"""The page of the queue: its status, options for added files, rows and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.ui.actions import build_actions
from app.ui.controllers.drop_handler import accept_as_copy
from app.ui.controllers.dropped_material import material_of
from app.ui.layouts import described, fill
from app.ui.queue.actions import QUEUE_ACTIONS
from app.ui.queue.adding_bar import AddingBar
from app.ui.queue.fault_list import FaultList
from app.ui.queue.folding_row import FoldingRow
from app.ui.queue.row_list import RowList
from app.ui.queue.row_model import RowModel
from app.ui.theme.tokens import SPACE
from app.ui.widgets.roles import show_role
from app.ui.widgets.toolbar import set_text_shown, tool_button
from utils.translation.texts import mark, tr

_MENU = (
    *("open", "reveal", None, "first", "up", "down", "last"),
    *(None, "retry", "remove", None, "clear"),
)
_FOOT = (("retry", "remove", "clear"), ("up", "down"), ("open", "reveal"))
DROP = mark("Drop to add to the queue")


class QueuePage(QFrame):
    """Shows the rows of `model`; `dropped(paths)` carries files for the queue.

    Args:
        slots: A callable for each of QUEUE_ACTIONS, whose keys work only on the page.
        offer: The window's action that an empty queue offers, while it is enabled.
    """

    dropped = Signal(object)  # list[Path]

    def __init__(
        self,
        model: RowModel,
        slots: Mapping[str, Callable[[], object]],
        offer: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("queue")
        self.setAccessibleName(tr("Queue"))
        self.setAcceptDrops(True)
        actions = self.actions_by_key = build_actions(self, slots, QUEUE_ACTIONS)
        for action in actions.values():
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        menu = [None if key is None else actions[key] for key in _MENU]
        self.list = RowList(model, menu, offer, self)
        self.faults = FaultList(self)
        self.adding = AddingBar(actions, self)
        self._summary, self._stream = _line(self), _line(self)
        self._said = ""
        self._heading = QLabel(tr("Queue"), self)
        self._heading.setProperty("role", "title")
        self.progress = described(
            QProgressBar(self), tr("Progress of the queue"), tr("How much of the queue is done")
        )
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(SPACE)
        self.finish = tool_button(actions["finish"], self, words=True)
        self.start = tool_button(actions["start"], self, words=True)
        self.results = tool_button(actions["results"], self, words=True)
        self.results.hide()
        buttons = [[tool_button(actions[key], self) for key in keys] for keys in _FOOT]
        for each in (*buttons[0], *buttons[2]):
            set_text_shown(each, True)
        self._foot = FoldingRow(buttons, buttons[1], self)
        head = (self._heading, SPACE, (self._summary, 1), self.finish, self.results, self.start)
        self._column = fill(
            QVBoxLayout(self),
            fill(QHBoxLayout(), *head, spacing=SPACE),
            self.progress,
            self.adding,
            self.faults,  # above the rows: notices cover what is below
            (self.list, 1),
            self._stream,
            self._foot,
            margins=(2 * SPACE, SPACE, 2 * SPACE, SPACE),
            spacing=SPACE,
        )
        self._stream.hide()

    @property
    def summary(self) -> str:
        return self._said

    def show_summary(self, text: str, share: float | None) -> None:
        """Show the status of the queue and the completed fraction, 0 to 1; None hides the bar."""
        self._said = text
        self._summary.setText(text)
        described(self._summary, text, text)
        self.progress.setVisible(share is not None)
        self.progress.setValue(round(1000 * (share or 0.0)))

    def show_running(self, running: bool) -> None:
        """Highlight the start button while the queue does not run."""
        show_role(self.start, "" if running else "primary")

    def show_end(self, ended: bool, *, more: bool) -> None:
        """Offer the results once a run has ended, beside the start button if `more` waits."""
        show_role(self.results, "" if more else "primary")
        self.results.setVisible(ended)
        self.finish.setVisible(not ended)
        self.start.setVisible(more or not ended)

    def show_stream(self, text: str) -> None:
        """Show the state of the stream; "" hides it."""
        self._stream.setText(text)
        self._stream.setVisible(bool(text))

    def set_covered_height(self, height: int) -> None:
        """Let the rows be scrolled above messages that cover the bottom `height` pixels."""
        below = self.height() - self.list.geometry().bottom() - 1
        self.list.keep_free(max(0, height - below))

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if material_of(event.mimeData()).paths:
            accept_as_copy(event)
            self._summary.setText(tr(DROP))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._summary.setText(self._said)

    def dropEvent(self, event: QDropEvent) -> None:
        self._summary.setText(self._said)
        if paths := material_of(event.mimeData()).paths:
            accept_as_copy(event)
            self.dropped.emit(list(paths))


def _line(parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", "muted")
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label
