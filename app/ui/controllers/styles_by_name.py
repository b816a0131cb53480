"""The menu of all styles by name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.live.session import Session
from app.ui.actions import STYLE_KEYS
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.widgets.main_menu import add_in_parts
from utils.translation.texts import tr


class StylesByName:
    """Fills `menu` as it opens: the styles in the order of the gallery, the chosen one checked.

    Args:
        choose: Gets the key of a style.
    """

    def __init__(
        self, session: Session, gallery: StyleGallery, menu: QMenu, choose: Callable[[str], object]
    ) -> None:
        self._session, self._gallery, self._menu, self._choose = session, gallery, menu, choose
        menu.setTitle(tr("Styles by name"))
        menu.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        """List the styles again; a search in the gallery does not leave any out."""
        for inner in self._menu.findChildren(QMenu):
            inner.deleteLater()
        self._menu.clear()
        styles = {style.key: style.title for style in self._session.catalog.styles}
        shown = self._gallery.keys
        made: list[QAction] = []
        for key in dict.fromkeys((*(key for key in shown if key in styles), *styles)):
            number = shown.index(key) + 1 if key in shown else STYLE_KEYS + 1
            hint = f"\t{number}" if number <= STYLE_KEYS else ""
            action = QAction(styles[key].replace("&", "&&") + hint, self._menu)
            action.setCheckable(True)
            action.setChecked(key == self._session.config.style)
            action.triggered.connect(lambda _=False, key=key: self._choose(key))
            made.append(action)
        add_in_parts(self._menu, made, tr("More styles"))
