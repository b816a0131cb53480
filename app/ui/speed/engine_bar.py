"""The row of lists below the speed test: device, engine, precision and version of the style."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLabel, QWidget

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.live.session import Session
from app.parameters import AUTO, PARAMETERS, Group
from app.ui.speed.engine_controls import EngineControls
from app.ui.speed.one_line import OneLineRemark
from app.ui.speed.tested_input import SIZES, TITLES
from app.ui.theme.tokens import SPACE
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.parameter_controls import control_of, show_available
from models.families.table import FAMILIES
from utils.translation.texts import tr

SHORT = 3  # characters that a list shows at least, since five are beside each other


class EngineBar(QFrame):
    """Writes session.config and follows it; shown during the speed test, or when wanted.

    Signals:
        left: The bar is hidden while one of its lists is focused.
    """

    left = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("engine")
        self.setAccessibleName(tr(Group.ENGINE))
        self._session = session
        self._wanted = self._testing = False
        self.lists = EngineControls(session, self)
        self.controls = {
            name: control_of(row) for name, row in PARAMETERS.items() if row.group is Group.ENGINE
        }
        self.others = self.lists.boxes  # not in the table
        self.version_remark, self._size_remark = OneLineRemark(), OneLineRemark()
        self.test = self.lists.test
        self.test_size = OptionBox(tr("Size"), tr("The size of the picture in the speed test"))
        self.test_size.set_options(Choice(size, tr(TITLES.get(size, size))) for size in SIZES)
        self._lay_out()
        for name, control in self.controls.items():
            control.picked.connect(lambda value, name=name: self._choose(name, value))
        self.test_size.picked.connect(self.test.choose_size)
        self.test.changed.connect(self._show_size)
        session.config_changed.connect(self.show_config)
        session.styles_changed.connect(self._enable_for_family)
        session.styled.connect(self._on_styled)
        self.show_config(session.config)
        self.lists.query_devices()
        self.hide()

    def show_config(self, config: EngineConfig) -> None:
        """Show `config` without emitting signals."""
        for name, control in self.controls.items():
            control.show_value(getattr(config, name))
        self._enable_for_family()
        self.lists.show_config(config)

    def set_wanted(self, wanted: bool) -> None:
        """Show the bar in every view, or only during the speed test."""
        self._wanted = wanted
        self._update()

    def set_testing(self, testing: bool) -> None:
        """Show the bar with the size while the speed test is the view.

        Size, engine and precision are then the test's own.
        """
        self._testing = testing
        for part in self._size_parts:
            part.setVisible(testing)
        self._grid.setColumnStretch(0, int(testing))
        self.test.set_active(testing)
        self._update()

    def open(self) -> None:
        """Focus the first list."""
        self.lists.device.setFocus()

    def _update(self) -> None:
        shown = self._wanted or self._testing
        focused = self.window().focusWidget()
        leaves = not shown and focused is not None and self.isAncestorOf(focused)
        self.setVisible(shown)
        if leaves:
            self.left.emit()

    def _lay_out(self) -> None:
        lists, version = self.lists, self.controls["network"]
        columns = (
            (tr("Si&ze"), self.test_size, self._size_remark),
            (tr("Dev&ice"), lists.device, lists.device_remark),
            (tr("En&gine"), lists.kernels, lists.kernels_remark),
            (tr("&Precision"), lists.precision, lists.precision_remark),
            (tr(PARAMETERS["network"].label), version, self.version_remark),
        )
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(2 * SPACE, SPACE // 2, 2 * SPACE, SPACE // 2)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(2)
        for place, (title, box, remark) in enumerate(columns):
            label = QLabel(title)
            label.setBuddy(box)
            for row, part in enumerate((label, box, remark)):
                grid.addWidget(part, row, place)
            grid.setColumnStretch(place, int(place > 0))
        for box in self.findChildren(QComboBox):
            box.setMinimumContentsLength(SHORT)
        self._size_parts = [part for row in range(3) if (part := self._at(row, 0)) is not None]
        for part in self._size_parts:
            part.hide()

    def _at(self, row: int, column: int) -> QWidget | None:
        item = self._grid.itemAtPosition(row, column)
        return None if item is None else item.widget()

    def _show_size(self) -> None:
        self.test_size.show_choice(self.test.size)
        words, pixels = "", self.test.pixels
        if pixels is not None:
            width, height = pixels
            words = tr("{width}x{height}, in this test only", width=width, height=height)
        self._size_remark.show_text(words)

    def _choose(self, name: str, value: object) -> None:
        self._session.config = replace(self._session.config, **{name: value})

    def _enable_for_family(self) -> None:
        family = self._session.catalog.family_of(self._session.config.style)
        for name, control in self.controls.items():
            show_available(
                control, FAMILIES[family].unavailable.get(name, ""), PARAMETERS[name].tip
            )

    def _on_styled(self, styled: StyledFrame) -> None:
        self.version_remark.show_text(self._version_words(styled))

    def _version_words(self, styled: StyledFrame) -> str:
        """Return which version runs if it is chosen automatically; a test keeps one."""
        if self._session.config.network != AUTO:
            return ""
        if self._testing:
            fast, fine = tr("Fast, during this test"), tr("Fine, during this test")
            return fast if styled.running.lite else fine
        return tr("Fast version in use") if styled.running.lite else ""
