"""The sheet of the speed test: commands, the curve, and a row for each engine."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.speed_test.measuring import LAYERS, LOOKING, Progress
from app.speed_test.result import SpeedResult
from app.speed_test.text import conditions
from app.ui.layouts import described, fill
from app.ui.speed.one_line import OneLineRemark
from app.ui.speed_test.curve import SpeedCurve
from app.ui.speed_test.layers import LayerHead, LayerList
from app.ui.speed_test.rows import RowHead, RowList
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

HEIGHT = 240  # px: the picture has the rest


class SpeedSheet(QFrame):
    """Shown below the picture during the speed test.

    Signals:
        measure_wanted, canceled: A button was pressed.
        text_wanted, picture_wanted, file_wanted: An entry of "Copy result" was chosen.
        left: The sheet is hidden while a part of it is focused.
    """

    measure_wanted = Signal()
    canceled = Signal()
    text_wanted = Signal()
    picture_wanted = Signal()
    file_wanted = Signal()
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("speedTest")
        self.setAccessibleName(tr("Speed test"))
        self.curve, self.rows = SpeedCurve(self), RowList(self)
        self.measure = make_button(
            tr("Measure &all"),
            tr("Time every engine of this machine on this picture, one after another"),
            self.measure_wanted.emit,
        )
        self.measure.setProperty("role", "primary")
        self.cancel = make_button(
            tr("Cance&l"), tr("Stop measuring after this picture"), self._cancel
        )
        self.progress = described(
            QProgressBar(self), tr("Progress of the measurement"), tr("How much is measured")
        )
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(16 * SPACE, SPACE)
        self.caption = OneLineRemark()
        self.caption.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.copy = self._copy_button()
        self._head = RowHead(self.rows, self)
        self.layers = LayerList(self)
        self.tabs = described(
            QTabBar(self), tr("Table"), tr("Choose between whole engines and their layers")
        )
        self._lay_out()
        for part in (self.cancel, self.progress):
            part.hide()
        self.show_result(None)
        self.hide()

    def _lay_out(self) -> None:
        middle = Qt.AlignmentFlag.AlignVCenter
        commands = fill(
            QHBoxLayout(),
            self.measure,
            self.cancel,
            self.progress,
            (self.caption, 1),
            self.tabs,
            self.copy,
            spacing=SPACE,
        )
        commands.setAlignment(self.progress, middle)
        tables = QStackedWidget(self)
        for title, head, rows in (
            (tr("Engines"), self._head, self.rows),
            (tr("By layer"), LayerHead(self.layers, self), self.layers),
        ):
            self.tabs.addTab(title)
            table = QWidget(tables)
            fill(QVBoxLayout(table), head, (rows, 1), margins=(0, 0, 0, 0), spacing=0)
            tables.addWidget(table)
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.currentChanged.connect(tables.setCurrentIndex)
        plots = fill(QHBoxLayout(), (self.curve, 1), (tables, 1), spacing=2 * SPACE)
        margins = 2 * SPACE, SPACE, 2 * SPACE, SPACE // 2
        fill(QVBoxLayout(self), commands, (plots, 1), margins=margins, spacing=SPACE)
        self.setMaximumHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def _copy_button(self) -> QToolButton:
        button = QToolButton(self)
        button.setText(tr("Copy res&ult"))
        tip = tr("Copy or save the result with machine and versions, to share it")
        described(button, without_mnemonic(button.text()), tip)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        for title, tip, signal in (
            (tr("As &text"), tr("Copy a few lines of text"), self.text_wanted),
            (tr("As &picture"), tr("Copy a card with this painting"), self.picture_wanted),
            (tr("&Save picture..."), tr("Save the card as a file"), self.file_wanted),
        ):
            action = QAction(title, menu)
            action.setToolTip(tip)
            action.triggered.connect(lambda _=False, signal=signal: signal.emit())
            menu.addAction(action)
        button.setMenu(menu)
        return button

    def set_shown(self, shown: bool) -> None:
        """Show or hide the sheet, which gives the focus away."""
        focused = self.window().focusWidget()
        leaves = not shown and focused is not None and self.isAncestorOf(focused)
        self.setVisible(shown)
        if leaves:
            self.left.emit()

    def show_progress(self, progress: Progress) -> None:
        """Show the rows so far, and the one that is under way."""
        self._set_busy(True)
        self.progress.setValue(round(100 * progress.share))
        if not self.cancel.isEnabled():
            return  # "Cancelling" stays shown
        if progress.number == LOOKING:
            self.caption.show_text(tr("Looking for engines..."))
            return
        if progress.number == LAYERS:
            self.caption.show_text(tr("Timing the layers..."))
            self.rows.rows_model.show_rows(progress.rows)
            return
        row = progress.rows[progress.number]
        self.caption.show_text(tr("Measuring {engine}...", engine=row.title))
        self.rows.rows_model.show_rows(progress.rows, progress.number)
        self._head.update()

    def show_result(self, result: SpeedResult | None) -> None:
        """Show a result and its conditions, or none, and that nothing is measured now."""
        self._set_busy(False)
        self.rows.rows_model.show_rows(() if result is None else result.rows)
        self.layers.layers_model.show_tables(() if result is None else result.layers)
        self._head.update()
        self.caption.show_text(
            "" if result is None else tr("Measured at {conditions}", conditions=conditions(result))
        )

    def _set_busy(self, busy: bool) -> None:
        if busy == self.measure.isHidden():
            return
        had_focus = (self.cancel if not busy else self.measure).hasFocus()
        self.measure.setVisible(not busy)
        for part in (self.cancel, self.progress):
            part.setVisible(busy)
        self.cancel.setEnabled(True)
        if had_focus:
            (self.cancel if busy else self.measure).setFocus()

    def _cancel(self) -> None:
        self.cancel.setEnabled(False)
        self.caption.show_text(tr("Cancelling..."))
        self.rows.setFocus()
        self.canceled.emit()
