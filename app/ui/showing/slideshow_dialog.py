"""The settings of the slideshow: styles, time per style, and transition."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QListWidget, QListWidgetItem, QSpinBox, QWidget

from app.settings import Settings
from app.styles.pack import Style
from app.ui.layouts import described
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import tr

WIDTH = 380  # pixels
SHORTEST_S, LONGEST_S = 2, 3600
_KEY = Qt.ItemDataRole.UserRole


class SlideshowDialog(ModelessDialog):
    """A modeless dialog whose choices take effect at once.

    Signals:
        picked: A field of Settings and its new value.
    """

    picked = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: slideshow"), parent)
        self.seconds = described(
            QSpinBox(), tr("Time of each style"), tr("How long each style is shown")
        )
        self.seconds.setRange(SHORTEST_S, LONGEST_S)
        self.seconds.setSuffix(tr(" s"))
        # A style sheet cannot pad the number.
        self.seconds.lineEdit().setTextMargins(SPACE, 0, 0, 0)
        self.seconds.valueChanged.connect(
            lambda value: self.picked.emit("slideshow_seconds", float(value))
        )
        self.styles = described(
            QListWidget(), tr("Styles of the slideshow"), tr("Select the styles to show")
        )
        self.styles.setObjectName("ticked")
        self.styles.itemChanged.connect(lambda _: self._pick_styles())
        self.cut = described(
            QCheckBox(tr("&Cut instead of fading")),
            tr("Cut instead of fading"),
            tr("Change from one style to the next at once, without a fade"),
        )
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
        lay_out_dialog(self, content, self.close_button(tr("C&lose")))
        self.setMinimumWidth(WIDTH)
