"""The settings of the slideshow: styles, time per style, and transition."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.settings import Settings
from app.styles.pack import Style
from app.ui.theme.tokens import SPACE
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import tr

WIDTH = 380  # pixels
SHORTEST_S, LONGEST_S = 2, 3600
_KEY = Qt.ItemDataRole.UserRole


class SlideshowDialog(QDialog):
    """A modeless dialog whose choices take effect at once.

    Signals:
        picked: A field of Settings and its new value.
    """

    picked = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("StyleForge: slideshow"))
        self.setModal(False)
        self.seconds = QSpinBox()
        self.seconds.setRange(SHORTEST_S, LONGEST_S)
        self.seconds.setSuffix(tr(" s"))
        # A style sheet cannot pad the number.
        self.seconds.lineEdit().setTextMargins(SPACE, 0, 0, 0)
        self.seconds.setAccessibleName(tr("Time of each style"))
        self.seconds.setToolTip(tr("How long each style is shown"))
        self.seconds.valueChanged.connect(
            lambda value: self.picked.emit("slideshow_seconds", float(value))
        )
        self.styles = QListWidget()
        self.styles.setObjectName("ticked")
        self.styles.setAccessibleName(tr("Styles of the slideshow"))
        self.styles.setToolTip(tr("Select the styles to show"))
        self.styles.itemChanged.connect(lambda _: self._pick_styles())
        self.cut = QCheckBox(tr("&Cut instead of fading"))
        self.cut.setAccessibleName(tr("Cut instead of fading"))
        self.cut.setToolTip(tr("Change from one style to the next at once, without a fade"))
        self.cut.clicked.connect(lambda on: self.picked.emit("slideshow_cuts", on))
        self._lay_out()
        WindowGeometry(self)

    def show_settings(self, settings: Settings, styles: Sequence[Style]) -> None:
        chosen = set(filter(None, settings.slideshow_styles.split("\n")))
        for widget in (self.seconds, self.styles):
            widget.blockSignals(True)
        self.seconds.setValue(round(settings.slideshow_seconds))
        self.styles.clear()
        for style in styles:
            item = QListWidgetItem(style.title, self.styles)
            item.setData(_KEY, style.key)
            on = not chosen or style.key in chosen
            item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.cut.setChecked(settings.slideshow_cuts)
        for widget in (self.seconds, self.styles):
            widget.blockSignals(False)

    def _pick_styles(self) -> None:
        items = [self.styles.item(row) for row in range(self.styles.count())]
        ticked = [each for each in items if each.checkState() == Qt.CheckState.Checked]
        keys = [] if len(ticked) == len(items) else [str(each.data(_KEY)) for each in ticked]
        self.picked.emit("slideshow_styles", "\n".join(keys))

    def _lay_out(self) -> None:
        content = QWidget()
        form = FormLayout(content)
        form.add(tr("&Time of each"), self.seconds)
        form.add(tr("&Styles"), self.styles)
        form.add_below(self.cut, whole=True)
        close = make_button(tr("C&lose"), tr("Close this window (Esc)"), self.reject)
        close.setAutoDefault(False)
        foot = QHBoxLayout()
        foot.setContentsMargins(2 * SPACE, 0, 2 * SPACE, 0)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 2 * SPACE)
        column.addWidget(content, 1)
        column.addLayout(foot)
        self.setMinimumWidth(WIDTH)
