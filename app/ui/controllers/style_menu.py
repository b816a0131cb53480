"""Commands for a style other than using it: arrange, look up, rename, export, remove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QWidget

from app.live.session import Session
from app.styles.facts import facts_of
from app.styles.pack import Style
from app.styles.style_file import ENDING
from app.ui.actions import set_available, tip_of
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.file_dialogs import SAVE_STYLE, FileDialogs
from app.ui.gallery.about import AboutStyle
from app.ui.gallery.arranging import Arranging
from app.ui.gallery.style_gallery import MenuEntry
from app.ui.widgets.style_list import StyleModel
from models.families.keys import ANY_STYLE
from utils.files.names import portable_name
from utils.translation.texts import mark, tr

# Titles in the context menu of a style, by the keys of the actions.
STYLE_ACTIONS = {
    "favorite_style": mark("&Favorite"),
    "move_style_left": mark("Move to the &left"),
    "move_style_right": mark("Move to the rig&ht"),
    "about_style": mark("&About..."),
    "group_style": mark("&Group..."),
    "rename_style": mark("&Rename..."),
    "export_style": mark("&Export..."),
    "train_picture": mark("&Train this style properly..."),
    "remove_style": mark("Remo&ve..."),
}


class StyleMenu:
    """The additional entries of a style's context menu, and the actions of the same names.

    Args:
        actions: The actions of the window, by key; they act on the chosen style.
    """

    def __init__(
        self,
        session: Session,
        installer: StyleInstaller,
        train: Callable[[Path, str], object],
        picker: FileDialogs,
        arranging: Arranging,
        model: StyleModel,
        actions: Mapping[str, QAction],
        parent: QWidget,
    ) -> None:
        self._session, self._train = session, train
        self._picker, self._actions, self._window = picker, actions, parent
        self._model = model
        self._about: AboutStyle | None = None
        self._acts: dict[str, Callable[[Style], object]] = {
            "favorite_style": lambda style: arranging.toggle_favorite(style.key),
            "move_style_left": lambda style: arranging.move(style.key, -1),
            "move_style_right": lambda style: arranging.move(style.key, 1),
            "about_style": self._tell_about,
            "group_style": lambda style: installer.ask_group(
                style, arranging.group_of(style.key), arranging.groups, arranging.set_group
            ),
            "rename_style": installer.ask_rename,
            "export_style": self._export,
            "train_picture": self._train_style,
            "remove_style": installer.ask_remove,
        }

    def entries(self, key: str) -> Iterator[MenuEntry]:
        style = self._find(key)
        if style is None:
            return
        for name, title in STYLE_ACTIONS.items():
            shortcut = self._actions[name].shortcut()
            reason = self._reason(name, style)
            act = self._acts[name]
            yield MenuEntry(tr(title), shortcut, tip_of(name), reason, lambda act=act: act(style))

    def show_chosen(self) -> None:
        """Enable training the chosen style, or show why it is unavailable.

        The other actions stay enabled and tell the reason, since their keys are known.
        """
        style = self._find(self._session.config.style)
        reason = tr("No style is chosen") if style is None else self._reason("train_picture", style)
        set_available(self._actions["train_picture"], tip_of("train_picture"), reason)

    def act(self, name: str) -> None:
        """Run one of STYLE_ACTIONS on the chosen style, or show why it does not apply."""
        style = self._find(self._session.config.style)
        if style is None:
            return
        if reason := self._reason(name, style):
            self._session.notice.emit(reason)
        else:
            self._acts[name](style)

    def _find(self, key: str) -> Style | None:
        return next((s for s in self._session.catalog.styles if s.key == key), None)

    def _reason(self, name: str, style: Style) -> str:
        """Return why an action does not apply to a style, as a sentence; "" if it does."""
        if name in ("rename_style", "remove_style") and style.builtin:
            if name == "rename_style":
                return tr("{title} is built in and cannot be renamed", title=style.title)
            return tr("{title} is built in and cannot be removed", title=style.title)
        if name == "train_picture" and style.family != ANY_STYLE:
            return tr("{title} already has its own network", title=style.title)
        if name == "train_picture" and style.picture is None:
            return tr("The picture of {title} was not kept", title=style.title)
        return ""

    def _tell_about(self, style: Style) -> None:
        def show(facts: tuple[tuple[str, str], ...]) -> None:
            if self._about is None:
                self._about = AboutStyle(self._window)
            row = self._model.row_of(style.key)
            picture = self._model.index(row).data(Qt.ItemDataRole.DecorationRole)
            self._about.show_facts(style.title, picture, facts)

        self._session.run(
            lambda: facts_of(style),
            show,
            failure=tr("Could not read the details of {title}", title=style.title),
        )

    def _train_style(self, style: Style) -> None:
        if style.picture is not None:
            self._train(style.picture, style.title)

    def _export(self, style: Style) -> None:
        """Ask for a file and export the style to it; the stream continues."""
        dialog = self._picker.dialog(
            self._window,
            tr("Export the style"),
            SAVE_STYLE,
            QFileDialog.FileMode.AnyFile,
            lambda names: self.export(style, Path(names[0])),
        )
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(ENDING.removeprefix("."))
        dialog.selectFile(f"{portable_name(style.key)}{ENDING}")
        dialog.open()

    def export(self, style: Style, path: Path) -> None:
        self._session.write(
            lambda: self._session.catalog.export_file(style.key, path),
            lambda target: self._session.notice.emit(
                tr("Exported {title} to {target}", title=style.title, target=target)
            ),
            failure=tr("Could not export {title}", title=style.title),
        )
