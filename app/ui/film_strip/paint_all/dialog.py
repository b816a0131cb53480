"""Asks for styles, size and place of all open pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.ui.film_strip.paint_all.order import PaintPlace
from app.ui.film_strip.paint_all.tiles import Tile, TileList
from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.window_geometry import WindowGeometry
from utils.text import printable
from utils.translation.mnemonics import without_mnemonic
from utils.translation.numbers import number
from utils.translation.texts import mark, tr, trn

LONG_SIDES = (3840, 2560, 1920, 1280, 1024, 800, 640)
MAX_NAME = 40  # characters of a folder in a sentence
NO_STYLE = mark("Choose at least one style.")
TAKEN = mark(
    "'{folder}' already has paintings with these names, so these go to a new folder in it."
)


class PaintAllDialog(QDialog):
    """The choices for all open pictures; `paint` is called when the user starts the work.

    Args:
        choose_place: Asks for another folder.
        paint: Receives the numbers of the ticked styles, the long side, and the place.
        time_of: Returns the time that so many pictures take, as a sentence.
    """

    def __init__(
        self,
        parent: QWidget,
        choose_place: Callable[[], object],
        paint: Callable[[list[int], int | None, PaintPlace], object],
        time_of: Callable[[int], str],
    ) -> None:
        super().__init__(parent)
        self._paint, self._time_of = paint, time_of
        self._count, self._place = 0, PaintPlace(Path(), Path())
        self.setWindowTitle(tr("Paint all pictures"))
        self.setAccessibleName(tr("Paint all pictures"))
        self.tiles = TileList(self)
        self.tiles.ticks_changed.connect(self._update)
        self.long_side = OptionBox(
            tr("Size of the paintings"),
            tr("Paint in the size of the pictures, or reduce larger ones, which is faster"),
            self,
        )
        sides = [
            Choice(side, tr("At most {n} pixels wide or high", n=number(side)))
            for side in LONG_SIDES
        ]
        self.long_side.set_options([Choice(None, tr("As large as the pictures")), *sides])
        self.place = PathLabel(self)
        self.taken = RemarkLabel(reserved=False)
        self.choose_place = make_button(
            tr("C&hange..."), tr("Choose another folder for the paintings"), choose_place
        )
        self.choose_place.setAutoDefault(False)
        self.time = RemarkLabel()
        cancel = make_button(tr("&Cancel"), tr("Paint nothing (Esc)"), self.reject)
        cancel.setAutoDefault(False)
        self.start = make_button(tr("&Paint the pictures"), "", self.accept)
        self.start.setProperty("role", "primary")
        self.start.setDefault(True)
        self.accepted.connect(self._on_accepted)
        lay_out_dialog(self, self._content(), cancel, self.start)
        WindowGeometry(self)

    def _content(self) -> QWidget:
        styles = QLabel(tr("Paint in these &styles:"), self)
        styles.setBuddy(self.tiles)
        rows = QWidget(self)
        form = FormLayout(rows)
        form.setContentsMargins(0, 0, 0, 0)
        form.add(tr("Si&ze"), self.long_side)
        place = QWidget(rows)
        margins = (0, 0, 0, 0)
        # The two lines are as high as the button, so that the second one moves nothing.
        lines = fill(QVBoxLayout(), self.place, self.taken, margins=margins, spacing=0)
        fill(QHBoxLayout(place), (lines, 1), self.choose_place, margins=margins, spacing=SPACE)
        form.add(tr("Into"), place)
        form.add_below(self.time)
        content = QWidget(self)
        sides = (2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE)
        parts = styles, (self.tiles, 1), rows
        fill(QVBoxLayout(content), *parts, margins=sides, spacing=SPACE)
        return content

    def show_pictures(self, count: int, styles: Sequence[Tile], place: PaintPlace) -> None:
        """Show the styles for `count` pictures, whose paintings go to `place`; keep the size."""
        self._count, self._place = count, place
        self.tiles.show_tiles(styles)
        self._update()
        self.tiles.setFocus()

    def show_place(self, place: PaintPlace) -> None:
        self._place = place
        self._update()

    @property
    def folder(self) -> Path:
        """The folder for paintings in the ticked styles."""
        return self._place.of(self.tiles.ticked)

    def _update(self) -> None:
        styles = self.tiles.ticked
        count = self._count * len(styles)
        words = trn("&Paint {n} picture", "&Paint {n} pictures", count, n=number(count))
        self.start.setText(words if styles else tr("&Paint the pictures"))
        self.start.setAccessibleName(without_mnemonic(self.start.text()))
        self.start.setEnabled(bool(styles))
        self.start.setToolTip(tr("Start painting (Enter)") if styles else tr(NO_STYLE))
        self.time.show_text(self._time_of(count) if styles else tr(NO_STYLE))
        wanted, folder = self._place.folder, self.folder
        self.place.show_path(folder)
        name = printable(wanted.name or str(wanted), MAX_NAME)
        self.taken.show_text("" if folder == wanted else tr(TAKEN, folder=name))

    def _on_accepted(self) -> None:
        self._paint(self.tiles.ticked, self.long_side.currentData(), self._place)


class PathLabel(QLabel):
    """A folder, elided in its middle; the tooltip has all of it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._path = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def show_path(self, path: Path) -> None:
        self._path = printable(str(path))
        self.setToolTip(self._path)
        self.setAccessibleName(self._path)
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        middle = Qt.TextElideMode.ElideMiddle
        self.setText(self.fontMetrics().elidedText(self._path, middle, self.width()))
