"""Connects the gallery to the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from app.ui.actions import STYLE_KEYS
from app.ui.controllers.picture_styles import PictureStyles
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.controllers.style_menu import STYLE_ACTIONS, StyleMenu
from app.ui.controllers.style_mixer import StyleMixer
from app.ui.gallery.arranging import Arranging
from app.ui.gallery.card_previews import CardPreviews
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.gallery.style_trial import StyleTrial
from app.ui.window_context import WindowContext

_CHOOSERS = tuple(f"style_{n}" for n in range(1, STYLE_KEYS + 1))
_ADDITIONS = ("style_picture", "paste_style", "install_style")

# The keys of the actions that `act` runs.
GALLERY_ACTIONS = (
    *_CHOOSERS,
    "next_style",
    "previous_style",
    "mix",
    "mix_next",
    "try_style",
    "try_on_hover",
    "search_styles",
    *_ADDITIONS,
    *STYLE_ACTIONS,
)


class GalleryController(QObject):
    """Makes the gallery follow the session, and changes styles on the user's request.

    Args:
        train: Opens the studio with a style picture and a title.

    Attributes:
        trial: Tries styles on the picture.
    """

    def __init__(
        self,
        context: WindowContext,
        gallery: StyleGallery,
        mixer: StyleMixer,
        installer: StyleInstaller,
        opener: SourceOpener,
        train: Callable[[Path, str], object],
    ) -> None:
        super().__init__(context.window)
        session, settings, actions = context.session, context.settings, context.actions
        self._session, self._gallery = session, gallery
        self.pictures = PictureStyles(context, gallery, installer.ask_install)
        self.pictures.train_wanted.connect(lambda picture: train(picture, ""))
        self.arranging = Arranging(context, gallery)
        self._menu = StyleMenu(context, installer, train, self.arranging, gallery.model)
        gallery.entries = self._menu.entries
        gallery.mix_reason = mixer.unavailable_reason
        gallery.additions = [actions[key] for key in _ADDITIONS]
        gallery.chosen.connect(mixer.choose_style)
        gallery.mixed.connect(mixer.toggle_mix)
        gallery.dropped_on.connect(mixer.mix_onto)
        self.previews = CardPreviews(session, gallery)
        self.trial = StyleTrial(
            session,
            gallery,
            lambda: settings().try_styles,
            mixer.choose_style,
            lambda title: context.viewport.set_style_title(title or mixer.label()),
        )
        self._hover_action, self._keep = actions["try_on_hover"], context.keep
        self._hover_action.setChecked(settings().try_styles)
        session.config_changed.connect(self._show_config)
        session.styles_changed.connect(self.show_styles)
        self._acts: dict[str, Callable[[], object]] = {
            **{key: self._chooser(mixer, row) for row, key in enumerate(_CHOOSERS)},
            "next_style": lambda: mixer.choose_style(gallery.neighbor(1)),
            "previous_style": lambda: mixer.choose_style(gallery.neighbor(-1)),
            "mix": mixer.toggle,
            "mix_next": mixer.mix_next,
            "try_style": lambda: self.trial.step(1),
            "try_on_hover": self._keep_hover,
            "search_styles": lambda: self._search(actions["gallery"]),
            "style_picture": self.pictures.ask_picture,
            "paste_style": self.pictures.paste,
            "install_style": lambda: opener.ask_style(installer.ask_install),
            **{key: lambda key=key: self._menu.act(key) for key in STYLE_ACTIONS},
        }

    def act(self, key: str) -> None:
        self._acts[key]()

    def _search(self, show_gallery: QAction) -> None:
        if not self._gallery.isVisible():
            show_gallery.trigger()
        self._gallery.search.setFocus()
        self._gallery.search.selectAll()

    def _keep_hover(self) -> None:
        self._keep(try_styles=self._hover_action.isChecked())
        self.trial.stop()

    def show_styles(self) -> None:
        self.arranging.show()
        self._show_config()

    def _show_config(self) -> None:
        config = self._session.config
        self._gallery.mark_style(config.style)
        self._gallery.show_mix(config.parts)
        self._menu.show_chosen()

    def _chooser(self, mixer: StyleMixer, row: int) -> Callable[[], None]:
        return lambda: mixer.choose_style(self._gallery.key_at(row))
