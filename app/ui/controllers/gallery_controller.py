"""Connects the gallery to the session: it shows the styles, and what is done with them is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.live.session import Session
from app.ui.actions import STYLE_KEYS
from app.ui.controllers.picture_styles import PictureStyles
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.controllers.style_menu import STYLE_ACTIONS, StyleMenu
from app.ui.controllers.style_mixer import StyleMixer
from app.ui.file_dialogs import FileDialogs
from app.ui.widgets.style_gallery import StyleGallery

_CHOOSERS = tuple(f"style_{n}" for n in range(1, STYLE_KEYS + 1))
_ADDITIONS = ("style_picture", "paste_style", "install_style")

# The keys of the actions that `act` does.
GALLERY_ACTIONS = (
    *_CHOOSERS,
    "next_style",
    "previous_style",
    "mix",
    "mix_next",
    *_ADDITIONS,
    *STYLE_ACTIONS,
)


class GalleryController(QObject):
    """Lets the gallery follow the session, and changes styles as the user asks.

    Args:
        session: Has the styles.
        gallery: Shows them.
        mixer: Chooses and mixes them.
        installer: Asks before they are changed.
        opener: Asks for files of styles.
        picker: Makes file dialogs.
        train: Opens the studio with a style picture and a title.
        actions: The actions of the window, by key.
        parent: The window.

    Attributes:
        pictures: Makes styles of pictures.
    """

    def __init__(
        self,
        session: Session,
        gallery: StyleGallery,
        mixer: StyleMixer,
        installer: StyleInstaller,
        opener: SourceOpener,
        picker: FileDialogs,
        train: Callable[[Path, str], object],
        actions: Mapping[str, QAction],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._gallery = session, gallery
        self.pictures = PictureStyles(
            session, gallery, installer.ask_install, picker, actions, parent
        )
        self.pictures.train_wanted.connect(lambda picture: train(picture, ""))
        self._menu = StyleMenu(session, installer, train, picker, actions, parent)
        gallery.entries = self._menu.entries
        gallery.mix_reason = mixer.unavailable_reason
        gallery.additions = [actions[key] for key in _ADDITIONS]
        gallery.chosen.connect(mixer.choose_style)
        gallery.mixed.connect(mixer.toggle_mix)
        session.config_changed.connect(self._show_config)
        session.styles_changed.connect(self.show_styles)
        self._acts: dict[str, Callable[[], object]] = {
            **{key: self._chooser(mixer, row) for row, key in enumerate(_CHOOSERS)},
            "next_style": lambda: mixer.choose_style(gallery.neighbor(1)),
            "previous_style": lambda: mixer.choose_style(gallery.neighbor(-1)),
            "mix": mixer.toggle,
            "mix_next": mixer.mix_next,
            "style_picture": self.pictures.ask_picture,
            "paste_style": self.pictures.paste,
            "install_style": lambda: opener.ask_style(installer.ask_install),
            **{key: lambda key=key: self._menu.act(key) for key in STYLE_ACTIONS},
        }

    def act(self, key: str) -> None:
        """Do one of GALLERY_ACTIONS."""
        self._acts[key]()

    def show_styles(self) -> None:
        """Show the styles of the library, with the chosen one marked."""
        self._gallery.set_styles(self._session.library.styles, self._session.config.style)
        self._show_config()

    def _show_config(self) -> None:
        config = self._session.config
        self._gallery.mark_style(config.style)
        self._gallery.show_mix(config.parts)
        self._menu.show_chosen()

    def _chooser(self, mixer: StyleMixer, row: int) -> Callable[[], None]:
        return lambda: mixer.choose_style(self._gallery.key_at(row))
