"""The list of places at the side: recent files, the user's folders and plugged-in drives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, QStandardPaths, QStorageInfo, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QWidget

from app.ui.layouts import described
from app.ui.picker.colors import tokens_in_use
from app.ui.theme.icons import icon
from app.ui.theme.tokens import SPACE
from utils.text import printable
from utils.translation.texts import mark, tr

_Location = QStandardPaths.StandardLocation
_USUAL = (
    (_Location.PicturesLocation, mark("Pictures"), "photo"),
    (_Location.MoviesLocation, mark("Videos"), "film"),
    (_Location.DownloadLocation, mark("Downloads"), "download"),
    (_Location.DesktopLocation, mark("Desktop"), "desktop"),
    (_Location.HomeLocation, mark("Home"), "home"),
)
# Where systems mount drives: in /media, /media/USER, /run/media/USER, /mnt or /Volumes.
_DRIVE = re.compile(r"/media/([^/]+/)?[^/]+|/run/media/[^/]+/[^/]+|/(mnt|Volumes)/[^/]+")
_ENTERS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_PLACE = Qt.ItemDataRole.UserRole
_NARROWEST, _WIDEST = 18, 28  # letters
_ICON = 20  # px


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the list; `folder` is None for the recent files."""

    title: str
    icon: str
    folder: Path | None = None


def usual_places() -> list[Place]:
    """Return the user's folders that exist; a system without some of them names the home folder."""
    found: dict[Path, Place] = {}
    for location, title, name in reversed(_USUAL):  # a folder of two kinds counts as the last one
        for folder in map(Path, QStandardPaths.standardLocations(location)[:1]):
            if folder.is_dir() and folder not in found:
                found[folder] = Place(tr(title), name, folder)
    return list(reversed(found.values()))


def drives() -> list[Place]:
    """Return mounted drives; slow for a network drive that does not answer."""
    found = []
    for volume in QStorageInfo.mountedVolumes():
        root = volume.rootPath()
        if _DRIVE.fullmatch(root) and volume.isValid() and volume.isReady():
            found.append(Place(printable(volume.name() or Path(root).name), "drive", Path(root)))
    return found


class PlaceList(QListWidget):
    """Lists the places; `chosen(Place)` is emitted for a click or Return."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        described(self, tr("Places"), tr("Folders to look in: click, or use the arrow keys"))
        self.setObjectName("places")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setIconSize(QSize(_ICON, _ICON))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.itemClicked.connect(lambda item: self.chosen.emit(item.data(_PLACE)))

    def show_places(self, places: Iterable[Place]) -> None:
        self.clear()
        for place in places:
            item = QListWidgetItem(place.title, self)
            item.setData(_PLACE, place)
            item.setToolTip(
                tr("Files opened last") if place.folder is None else printable(str(place.folder))
            )
        self.show_icons()
        letter = self.fontMetrics().averageCharWidth()
        width = max(self.sizeHintForColumn(0) + 2 * SPACE, _NARROWEST * letter)
        self.setFixedWidth(min(width, _WIDEST * letter))

    def show_current(self, folder: Path | None) -> None:
        """Mark the place of a folder, None for the recent files, if it is one."""
        rows = (row for row in range(self.count()) if self._place(row).folder == folder)
        self.setCurrentRow(next(rows, -1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose with Return, which would otherwise press the dialog's button."""
        item = self.currentItem()
        if item is not None and event.key() in _ENTERS:
            self.chosen.emit(item.data(_PLACE))
        else:
            super().keyPressEvent(event)

    def _place(self, row: int) -> Place:
        return self.item(row).data(_PLACE)

    def show_icons(self) -> None:
        """Show the icons in the theme's color, even for the selected place."""
        for row in range(self.count()):
            made = QIcon(icon(self._place(row).icon, tokens_in_use()))
            for size in (_ICON, 2 * _ICON):
                made.addPixmap(made.pixmap(size), QIcon.Mode.Selected)
            self.item(row).setIcon(made)
