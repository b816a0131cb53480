"""Arranges the gallery: search, favorites, and an order by hand, which the settings keep."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.live.session import Session
from app.settings import Settings
from app.styles.pack import Style
from app.ui.gallery.arrangement import arranged, found, keys_of, moved, text_of
from app.ui.gallery.style_gallery import StyleGallery


class Arranging(QObject):
    """Shows the styles of the library in the user's order, as far as the search finds them.

    Args:
        session: Has the styles.
        gallery: Shows them; its search and its moves are followed.
        settings: Gives the settings.
        keep: Changes settings.
    """

    def __init__(
        self,
        session: Session,
        gallery: StyleGallery,
        settings: Callable[[], Settings],
        keep: Callable[..., object],
    ) -> None:
        super().__init__(gallery)
        self._session, self._gallery = session, gallery
        self._settings, self._keep = settings, keep
        gallery.search.textChanged.connect(lambda _: self.show())
        gallery.moved.connect(self.move_before)
        gallery.star_clicked.connect(self.toggle_favorite)

    @property
    def favorites(self) -> tuple[str, ...]:
        """The keys of the favorite styles."""
        return keys_of(self._settings().favorite_styles)

    def show(self) -> None:
        """Show the styles."""
        styles = found(self._arranged(), self._gallery.search.text())
        self._gallery.set_styles(styles, self._session.config.style)
        self._gallery.model.set_favorites(self.favorites)

    def toggle_favorite(self, key: str) -> None:
        """Make a style a favorite, which comes first; or one like the others again."""
        kept = self.favorites
        others = tuple(other for other in kept if other != key)
        self._keep(favorite_styles=text_of(others if key in kept else (*kept, key)))
        self.show()

    def move(self, key: str, count: int) -> None:
        """Move a style so many cards to the right; to the left if negative."""
        keys = [style.key for style in self._arranged()]
        if key not in keys:
            return
        others = [other for other in keys if other != key]
        place = keys.index(key) + count
        if 0 <= place <= len(others):
            self.move_before(key, others[place] if place < len(others) else "")

    def move_before(self, key: str, before: str) -> None:
        """Move a style before another one, or to the end; a favorite stays among the favorites."""
        keys = [style.key for style in self._arranged()]
        self._keep(style_order=text_of(moved(keys, key, before)))
        self.show()
        self._gallery.scroll_to(key)

    def _arranged(self) -> tuple[Style, ...]:
        order = keys_of(self._settings().style_order)
        return arranged(self._session.library.styles, order, self.favorites)
