"""The dialog: places, the folder's tiles, its path, a filter and the chosen files' sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.background_jobs import RunJob
from app.ui.layouts import described, fill
from app.ui.picker.colors import tokens_in_use
from app.ui.picker.entries import Entry, Listing, read_folder, read_recent
from app.ui.picker.foot import Foot, Kind, words_of
from app.ui.picker.given import accept_as_copy, dropped_files, folder_of, is_typed, typed_path
from app.ui.picker.model import ENTRY, EntryModel
from app.ui.picker.new_folder import NewFolder
from app.ui.picker.path_bar import PathBar
from app.ui.picker.places import Place, PlaceList, drives, usual_places
from app.ui.picker.thumbnails import FolderThumbnails, has_thumbnail
from app.ui.picker.tiles import TileGrid
from app.ui.theme.icons import icon
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.window_geometry import WindowGeometry
from utils.text import printable
from utils.translation.texts import tr

FileMode = QFileDialog.FileMode
SIZE = QSize(1040, 660)
_ENTERS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_RECOLORED = QEvent.Type.PaletteChange, QEvent.Type.StyleChange
_LETTERS = 28  # width of the filter
_BY_DATE, _BY_NAME = "date", "name"


class PickerDialog(QDialog):
    """Chooses existing files, or a folder; reads folders and thumbnails in the background.

    It has the methods of QFileDialog that its callers use.

    Signals:
        filesSelected: The chosen paths, as text.

    Args:
        kinds: The kinds of files to choose from; the first is shown.
        recent: Returns the paths that were chosen last, the newest first.
    """

    filesSelected = Signal(list)  # noqa: N815  (QFileDialog's name)

    def __init__(
        self,
        title: str,
        mode: FileMode,
        kinds: Sequence[Kind],
        recent: Callable[[], Sequence[Path]],
        run: RunJob,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAcceptDrops(True)
        self._run, self._recent, self._kinds = run, recent, kinds
        self._for_folder = mode is FileMode.Directory
        self._folder: Path | None = Path.home()
        self._listing = Listing()
        self._reads = 0  # of folders; a later one makes earlier ones unwanted
        self._awaited: Sequence[Path] = ()  # to select once the folder is read
        self._hidden_shown = False
        self._fault = ""  # of a typed path
        self.thumbnails = FolderThumbnails(run, self)
        self.model = EntryModel(self.thumbnails, self, folders_only=self._for_folder)
        self._make_parts(several=mode is FileMode.ExistingFiles)
        self._lay_out()
        self._connect()
        self._add_keys()
        self.resize(SIZE)
        WindowGeometry(self)

    # Parts

    def _make_parts(self, *, several: bool) -> None:
        self.up = make_button("", tr("Go to the folder above (Alt+Up)"), self.go_up)
        self.up.setAccessibleName(tr("Folder above"))
        self.path = PathBar(self)
        self.filter = described(
            QLineEdit(self),
            tr("Filter by name"),
            tr("Show only names with these letters; typing in the folder begins here"),
        )
        self.filter.setPlaceholderText(tr("Filter by name"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setAcceptDrops(False)  # the dialog takes dropped files
        self.order = OptionBox(tr("Order"), tr("Order of files and folders"), self)
        orders = Choice(_BY_DATE, tr("Newest first")), Choice(_BY_NAME, tr("By name"))
        self.order.setSizeAdjustPolicy(OptionBox.SizeAdjustPolicy.AdjustToContents)
        self.order.set_options(orders)
        self.order.show_choice(_BY_DATE)
        self.places = PlaceList(self)
        self.grid = described(
            TileGrid(self.model, self),
            tr("Files and folders"),
            tr("Choose with the arrow keys or the pointer"),
        )
        self.thumbnails.in_view = self.grid.in_view
        modes = TileGrid.SelectionMode
        self.grid.setSelectionMode(modes.ExtendedSelection if several else modes.SingleSelection)
        self.message = QLabel(self.grid)
        self.message.setProperty("role", "muted")
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setWordWrap(True)
        self.message.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.new_folder = (
            NewFolder(lambda: self._folder, self._run, self) if self._for_folder else None
        )
        self.foot = Foot(self._kinds, self._take, self.reject, self.new_folder, self)

    def _lay_out(self) -> None:
        self.filter.setFixedWidth(_LETTERS * self.fontMetrics().averageCharWidth())
        top = fill(QHBoxLayout(), self.up, (self.path, 1), self.filter, self.order, spacing=SPACE)
        middle = fill(QHBoxLayout(), self.places, self._line(), (self.grid, 1), spacing=SPACE)
        side = 2 * SPACE
        whole = fill(QVBoxLayout(self), top, (middle, 1), self.foot, spacing=SPACE + SPACE // 2)
        whole.setContentsMargins(side, side, side, side)
        fill(QVBoxLayout(self.grid), self.message, margins=(4 * SPACE, 0, 4 * SPACE, 0))
        self._show_icons()

    def _line(self) -> QFrame:
        line = QFrame(self)
        line.setObjectName("paletteLine")
        line.setFixedWidth(1)
        return line

    def _connect(self) -> None:
        self.path.chosen.connect(self.go_to)
        self.path.typed.connect(self._go_to_typed)
        self.path.left.connect(self.grid.setFocus)
        self.filter.textChanged.connect(lambda _: self._show_entries())
        self.order.picked.connect(lambda _: self._show_entries())
        self.foot.kinds.picked.connect(lambda _: self._show_entries())
        self.places.chosen.connect(self._go_to_place)
        self.grid.doubleClicked.connect(lambda index: self._enter(index.data(ENTRY)))
        self.grid.selectionModel().selectionChanged.connect(lambda *_: self._on_chosen())
        self.thumbnails.made.connect(self._on_made)
        if self.new_folder is not None:
            self.new_folder.made.connect(self.go_to)
            self.new_folder.refused.connect(self._show_fault)
        for part in (self.grid, self.filter):
            part.installEventFilter(self)

    def _add_keys(self) -> None:
        for keys, slot in (
            ("Ctrl+L", self.path.edit),
            ("Ctrl+F", self.filter.setFocus),
            ("Ctrl+H", self._toggle_hidden),
            ("Alt+Up", self.go_up),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)
        if self.new_folder is not None:
            QShortcut(QKeySequence("Ctrl+Shift+N"), self).activated.connect(self.new_folder.ask)

    # Folders

    @property
    def folder(self) -> Path | None:
        """The shown folder; None for the recent files."""
        return self._folder

    @property
    def chosen(self) -> list[Entry]:
        """The selected entries, in the order shown."""
        rows = sorted(index.row() for index in self.grid.selectionModel().selectedIndexes())
        return [self.model.entries[row] for row in rows]

    def setDirectory(self, folder: str) -> None:
        """Show a folder."""
        self.go_to(Path(folder))

    def go_to(self, folder: Path, *selected: Path) -> None:
        """Show a folder, and select these of its entries once it is read."""
        self._begin(folder, selected)
        self.path.show_folder(folder)
        number = self._reads
        self._run(
            lambda: read_folder(folder, lambda: number == self._reads),
            lambda listing: self._on_read(number, listing),
            failure="Could not read a folder",
        )

    def go_up(self) -> None:
        """Show the folder above with the present one selected."""
        if self._folder is not None and self._folder.parent != self._folder:
            self.go_to(self._folder.parent, self._folder)

    def reveal(self, paths: Sequence[Path]) -> None:
        """Go to a folder, or to the folder of files and select them."""
        number = self._reads

        def done(found: Path | None) -> None:
            if number != self._reads:
                return
            if found is None:
                name = printable(str(paths[0]))
                self._show_fault(tr("There is no file or folder '{name}'", name=name))
            elif found == paths[0]:
                self.go_to(found)
                self.grid.setFocus()
            else:
                self.go_to(found, *paths)
                self.grid.setFocus()

        self._run(lambda: folder_of(paths[0]), done, failure="Could not look for a file")

    def _go_to_place(self, place: Place) -> None:
        if place.folder is not None:
            self.go_to(place.folder)
            return
        self._begin(None, ())
        self.path.show_folder(None, place.title)
        number, paths = self._reads, self._recent()
        self._run(
            lambda: read_recent(paths),
            lambda listing: self._on_read(number, listing),
            failure="Could not read a folder",
        )

    def _go_to_typed(self, text: str) -> None:
        if path := typed_path(text, self._folder):
            self.reveal([path])

    def _begin(self, folder: Path | None, selected: Sequence[Path]) -> None:
        """Leave the shown folder and its filter."""
        self._reads += 1
        self._folder, self._awaited, self._fault = folder, selected, ""
        self._listing = Listing()
        focused = self.focusWidget()
        if focused is not None and self.path.isAncestorOf(focused):  # it is replaced
            self.grid.setFocus()
        self.filter.clear()
        self.model.show_entries(())
        self.up.setEnabled(folder is not None and folder.parent != folder)
        self.places.show_current(folder)
        self.message.setText(tr("Reading the folder..."))
        self._show_choice()

    def _on_read(self, number: int, listing: Listing) -> None:
        if number == self._reads:
            self._listing = listing
            self._offer_awaited()
            self._show_entries()
            self._awaited = ()

    def _offer_awaited(self) -> None:
        """Show all kinds of files if a typed or dropped file is of another kind."""
        awaited = [e for e in self._listing.by_name if not e.folder and e.path in self._awaited]
        last = len(self.foot.offered) - 1
        if last > 0 and not all(map(self._is_wanted, awaited)):
            self.foot.kinds.show_choice(last)

    # Entries

    def _show_entries(self) -> None:
        """Show the entries of the chosen kind with the letters of the filter."""
        selected = [entry.path for entry in self.chosen] or self._awaited
        listing, by_name = self._listing, self.order.currentData() == _BY_NAME
        letters = self.filter.text().casefold()
        shown = [
            entry
            for entry in (listing.by_name if by_name else listing.by_date)
            if (self._hidden_shown or not entry.hidden or entry.path in selected)
            and (entry.folder or self._is_wanted(entry))
            and letters in entry.path.name.casefold()
        ]
        self.model.show_entries(shown)
        self.message.setText("" if shown else self._emptiness())
        self._select(selected)
        self._show_choice()

    def _is_wanted(self, entry: Entry) -> bool:
        """Return whether a file has one of the extensions, or is in a folder of pictures."""
        if self._for_folder:
            return has_thumbnail(entry)
        return entry.path.name.lower().endswith(self.foot.endings)

    def _emptiness(self) -> str:
        if self._listing.fault:
            return self._listing.fault
        if self._listing.by_name and self.filter.text():
            return tr("No name here has '{letters}'", letters=printable(self.filter.text()))
        if self._folder is None:
            return tr("Files that you open appear here")
        return tr("There are no such files here; you can drop files or a folder on this window")

    def _select(self, paths: Sequence[Path]) -> None:
        rows = [row for path in paths if (row := self.model.row_of(path)) is not None]
        if not rows:
            return
        self.grid.setCurrentIndex(self.model.index(rows[0]))
        flag = self.grid.selectionModel().SelectionFlag.Select
        if self.grid.selectionMode() is TileGrid.SelectionMode.ExtendedSelection:
            for row in rows[1:]:
                self.grid.selectionModel().select(self.model.index(row), flag)
        self.grid.scrollTo(self.model.index(rows[0]))

    def _toggle_hidden(self) -> None:
        self._hidden_shown = not self._hidden_shown
        self._show_entries()

    def _on_made(self, path: Path) -> None:
        if any(entry.path == path for entry in self.chosen):
            self._show_choice()

    # The choice

    def _show_fault(self, fault: str) -> None:
        self._fault = fault
        self._show_choice()

    def _on_chosen(self) -> None:
        self._fault = ""
        self._show_choice()

    def _show_choice(self) -> None:
        """Describe the selected entries, and enable the button if they can be opened."""
        chosen = self.chosen
        if self._for_folder:
            text, fault = self._folder_words(chosen), ""
        else:
            text, fault = words_of(chosen, self.thumbnails)
        self.foot.show_words(text, self._fault or fault)
        whole = self._for_folder and self._folder is not None
        self.foot.open.setEnabled(bool(chosen) or (whole and not self._listing.fault))
        if self.new_folder is not None:
            self.new_folder.setEnabled(whole and not self._listing.fault)

    def _folder_words(self, chosen: list[Entry]) -> str:
        folder = chosen[0].path if chosen else self._folder
        if folder is None or (self._listing.fault and not chosen):
            return ""
        return tr("Folder: {name}", name=printable(folder.name or str(folder), 80))

    def _take(self) -> None:
        """Choose the selection; go into a single folder unless a folder is wanted."""
        chosen = self.chosen
        if self._for_folder:
            folder = chosen[0].path if chosen else self._folder
            if folder is not None:
                self._finish([folder])
            return
        files = [entry.path for entry in chosen if not entry.folder]
        if files:
            self._finish(files)
        elif chosen:
            self.go_to(chosen[0].path)

    def _enter(self, entry: Entry) -> None:
        """Go into a folder, or choose a file."""
        if entry.folder:
            self.go_to(entry.path)
        elif not self._for_folder:
            self._finish([entry.path])

    def _finish(self, paths: Sequence[Path]) -> None:
        self.accept()
        self.filesSelected.emit([str(path) for path in paths])

    # Events

    def showEvent(self, event: QShowEvent) -> None:
        """List the places, since a drive may have been plugged in."""
        super().showEvent(event)
        if event.spontaneous():  # it was minimized
            return
        self._show_icons()
        usual = [Place(tr("Recent"), "recent"), *usual_places()]
        self.places.show_places(usual)
        self.places.show_current(self._folder)
        self.grid.setFocus()

        def done(found: list[Place]) -> None:
            if found:
                self.places.show_places([*usual, *found])
                self.places.show_current(self._folder)

        self._run(drives, done, failure="Could not look for drives")

    def done(self, result: int) -> None:
        """Stop reading, and close."""
        self._reads += 1
        super().done(result)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RECOLORED and self.isVisible():
            self._show_icons()

    def _show_icons(self) -> None:
        self.up.setIcon(icon("up", tokens_in_use()))
        self.places.show_icons()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys of the tiles and of the filter."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        return self._grid_takes(event) if watched is self.grid else self._filter_takes(event)

    def _grid_takes(self, event: QKeyEvent) -> bool:
        if event.key() in _ENTERS:
            chosen = self.chosen
            if len(chosen) == 1 and chosen[0].folder:
                self._enter(chosen[0])
            else:
                self._take()
        elif event.key() == Qt.Key.Key_Backspace:
            self.go_up()
        elif is_typed(event):
            self.filter.setFocus()
            self.filter.insert(event.text())
        else:
            return False
        return True

    def _filter_takes(self, event: QKeyEvent) -> bool:
        """Return to the tiles with the first one selected; Return opens the only one."""
        entries = self.model.entries
        if event.key() not in (*_ENTERS, Qt.Key.Key_Down):
            return False
        if event.key() in _ENTERS and len(entries) == 1:
            self._enter(entries[0])
        elif entries:
            self.grid.setFocus()
            if not self.chosen:
                self.grid.setCurrentIndex(self.model.index(0))
        return True

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event):
            accept_as_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Go to what was dropped, and select it."""
        accept_as_copy(event)
        self.reveal(dropped_files(event))
