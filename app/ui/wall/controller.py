"""Shows the wall in place of the picture, and lets one of its paintings grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, QTimer, Signal
from PySide6.QtGui import QPixmap, QTransform
from PySide6.QtWidgets import QMenu

from app.frame import SourceInfo
from app.live.previews.painter import Preview
from app.live.previews.tiles import UNPAINTED
from app.sources import SCENE
from app.styles.pack import Style
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.theme.theme import Theme
from app.ui.viewport.frame_painter import as_image
from app.ui.wall.first_source import first_source
from app.ui.wall.growing import Growing
from app.ui.wall.page import WallPage
from app.ui.wall.sources import WallSources
from app.ui.window_context import WindowContext
from utils.translation.texts import tr

ASK_MS = 50  # delay after the last change of the tiles


class WallController(QObject):
    """Owns the wall.

    While its page is visible, the session paints the tiles instead of the stream. It hides during a
    drag over the window, since the picture shows the effect of dropping, and ends when a recording
    or another program needs the stream.

    Args:
        styles: Returns all styles in the user's order.
    """

    shown_changed = Signal()

    def __init__(
        self,
        context: WindowContext,
        theme: Theme,
        gallery: StyleGallery,
        styles: Callable[[], Sequence[Style]],
    ) -> None:
        super().__init__(context.window)
        self._context, self._session, self._viewport = context, context.session, context.viewport
        self._styles = styles
        self.page = WallPage(context.actions, context.viewport)
        button = self.page.sources.buttons["open_camera"]
        self.sources = WallSources(context, lambda: self._shown, button)
        self.growing: Growing | None = None
        self._shown = self._dragging = self._paused = False
        self._returns = False  # whether a picture was on screen before the wall
        self._opening = ""
        self._soon = QTimer(self, interval=ASK_MS, singleShot=True)
        self._soon.timeout.connect(self._ask)
        self._connect(gallery, theme)

    def _connect(self, gallery: StyleGallery, theme: Theme) -> None:
        session = self._session
        session.opening_changed.connect(self._on_opening_changed)
        session.source_changed.connect(self._on_source_changed)
        session.config_changed.connect(lambda _: self._show_current())
        session.replaced.connect(self.page.clear_paintings)
        session.styles_changed.connect(self._soon.start)
        session.wall.painted.connect(self._on_painted)
        session.wall.ended.connect(self.leave)
        gallery.model.modelReset.connect(self._soon.start)
        mirror = self._context.actions["mirror"]
        mirror.triggered.connect(lambda: self.page.mirror(self._viewport.mirrored))
        self.page.chosen.connect(self.choose)
        self.page.turned.connect(self._soon.start)
        for watched in (self._context.window, self.page):
            watched.installEventFilter(self)
        theme.changed.connect(lambda _tokens: self._show_icons(theme))
        self._show_icons(theme)

    def _show_icons(self, theme: Theme) -> None:
        self.page.bar.show_icons(theme.tokens)
        self.page.sources.show_icons(theme.tokens)

    # Showing and leaving

    @property
    def shown(self) -> bool:
        """Whether the wall takes the place of the picture."""
        return self._shown

    def begin(self, stored: str | list[str]) -> None:
        """Show the wall at the start, with the newest source that may be opened unasked."""
        self._show()
        self.sources.open_first(first_source(stored))

    def toggle(self) -> None:
        """Show the wall, or the picture from which it was shown."""
        if self._shown and self._returns:
            self.leave()
        else:
            self.show()

    def show(self) -> None:
        """Show the wall, unless something else needs the stream; without a source, the scene."""
        if self._shown:
            return
        if self._session.shared:
            self._context.say(
                tr("The wall would stop the stream that a recording or another program uses")
            )
            return
        self._returns = self._viewport.styled is not None
        self._show()
        if self._session.info is None and not self._opening:
            self.sources.open_first(SCENE)

    def _show(self) -> None:
        if self.growing is not None:
            self.growing.end()
        self._shown = True
        self.page.bar.back_button.setVisible(self._returns)
        self._show_current()
        self.page.set_styles(self._styles())  # the present style's tile takes the focus
        self.page.mirror(self._viewport.mirrored)
        self._pause_film()
        self._update()
        self._ask()

    def leave(self) -> None:
        """Show the picture with the present style."""
        if not self._shown:
            return
        self._shown = False
        self._update()
        self._ask()
        if self._paused:
            self._paused = False
            self._session.paused = False

    def choose(self, key: str) -> None:
        """Let a painting grow to the whole picture, in that style alone."""
        tile, info = self.page.tile_of(key), self._session.info
        if tile is None or tile.reason or not self._shown:
            return
        place = QRect(tile.mapToGlobal(QPoint(0, 0)), tile.size())
        painting = tile.painting
        chosen = self._session.config.mixed([(key, 1.0)])
        self._session.config = replace(chosen, compare=False)
        self.leave()
        if info is not None and not painting.isNull():
            shape = QSize(info.width, info.height)
            if tile.mirrored:
                painting = painting.transformed(QTransform().scale(-1, 1))
            self.growing = Growing(self._session, self._viewport, key, painting, place, shape)
            self.growing.destroyed.connect(self._forget_growing)

    def choose_number(self, number: int) -> None:
        """Let the painting with this number key grow, 1 to 9."""
        self.choose(self.page.tiles[number - 1].key)

    def pop_up(self, menu: QMenu) -> None:
        """Open the main menu at the wall's button."""
        self.page.bar.pop_up(menu)

    def _forget_growing(self) -> None:
        self.growing = None

    def _show_current(self) -> None:
        styles = self._session.config.styles
        self.page.show_current(styles[0] if len(styles) == 1 else "")

    def _update(self) -> None:
        self.page.show_page(self._shown and not self._dragging)
        self._show_words()
        self.shown_changed.emit()

    # What is painted

    def _ask(self) -> None:
        """Have the tiles painted if they can be seen, and otherwise the stream."""
        self._soon.stop()
        seen = self.page.isVisible() or (self._dragging and self._viewport.isVisible())
        if self._shown and seen and not self._context.window.isMinimized():
            self.page.set_styles(self._styles())
            self._session.wall.show(self.page.keys, *self.page.tile_size.toTuple())
        else:
            self._session.wall.hide()

    def _on_painted(self, preview: Preview) -> None:
        pixels = preview.pixels
        picture = QPixmap() if pixels is None else QPixmap.fromImage(as_image(pixels))
        if preview.style == UNPAINTED:
            self.page.show_soft(picture)
            self._pause_film()
        else:
            self.page.show_painting(preview.style, picture, preview.reason)

    def _pause_film(self) -> None:
        """Hold a film while its painting is chosen."""
        info = self._session.info
        if self._shown and info is not None and info.duration and not self._session.paused:
            self._session.paused = self._paused = True

    def _on_opening_changed(self, opening: str) -> None:
        self._opening = opening
        self._show_words()

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        self.page.sources.show_fresh(fresh=info is None or self._session.spec == SCENE)
        self._show_words()

    def _show_words(self) -> None:
        info = self._session.info
        if self._opening or info is None:
            said = self._opening
        elif self._session.spec == SCENE:
            said = tr("The built-in scene. Nothing leaves this computer.")
        else:
            said = tr("{source}. Nothing leaves this computer.", source=info.title)
        self.page.bar.show_source(said)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self.page:
            if kind in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide):
                self._soon.start()
        elif kind == QEvent.Type.WindowStateChange:
            self._soon.start()
        elif kind == QEvent.Type.DragEnter and self._shown:
            self._dragging = True
            self._update()
        elif kind in (QEvent.Type.DragLeave, QEvent.Type.Drop) and self._dragging:
            self._dragging = False
            self._update()
        return False
