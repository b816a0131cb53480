"""Offers to paint all open pictures, and gives the jobs to the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from app.engine.config import EngineConfig
from app.frame import SourceInfo
from app.sources import strip_of
from app.styles.pack import Style
from app.ui.actions import set_available, tip_of
from app.ui.durations import format_duration
from app.ui.file_dialogs import PAINT_FOLDER
from app.ui.film_strip.controller import Painter, StripPainter
from app.ui.film_strip.paint_all.dialog import PaintAllDialog
from app.ui.film_strip.paint_all.order import (
    PaintAllOrder,
    PaintPlace,
    chosen_place,
    usual_folder,
    usual_place,
)
from app.ui.film_strip.paint_all.previews import TilePreviews
from app.ui.film_strip.paint_all.tiles import Tile
from app.ui.film_strip.thumbnails import Pixels
from app.ui.queue.controller import QueueController
from app.ui.window_context import WindowContext
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

ACTION = "paint_all"
TOO_FEW = mark("Open a folder or several pictures first, to paint all of them")


class PaintAll(QObject):
    """Owns the dialog, and the action that opens it while several pictures are open.

    Args:
        styles: Returns all styles in the user's order.
        look: Returns the title of the style or mix on screen.
        known: Returns the picture on screen in a style, if that was painted before.

    Attributes:
        new_painter: Returns a painter of tiles with an engine of its own.
    """

    def __init__(
        self,
        context: WindowContext,
        queue: QueueController,
        styles: Callable[[], Sequence[Style]],
        look: Callable[[], str],
        known: Callable[[str], Pixels | None],
    ) -> None:
        super().__init__(context.window)
        self._context, self._session, self._queue = context, context.session, queue
        self._styles, self._look, self._known = styles, look, known
        self._action = context.actions[ACTION]
        self._paths: tuple[Path, ...] = ()
        self._looks: list[EngineConfig] = []
        self._chosen: Path | None = None  # the user's folder, until the program ends
        catalog = context.session.catalog
        self.new_painter: Callable[[], Painter] = lambda: StripPainter(catalog)
        self.previews = TilePreviews(context.session.run, self)
        self.dialog: PaintAllDialog | None = None
        context.session.source_changed.connect(self._on_source_changed)
        self._on_source_changed(context.session.info)

    def ask(self) -> None:
        """List the open pictures, and ask how to paint them."""
        spec, info = self._session.spec, self._session.info
        if info is None or info.count < 2:
            self._context.say(tr(TOO_FEW))
            return
        at = int(self._session.position)

        looks, tiles = self._offered()

        def work() -> tuple[tuple[Path, ...], PaintPlace]:
            paths = strip_of(spec)
            return paths, self._place(paths, looks)

        def done(found: tuple[tuple[Path, ...], PaintPlace]) -> None:
            paths, place = found
            self._paths, self._looks = paths, looks
            self._open(tiles, place, paths[min(at, len(paths) - 1)])

        self._session.run(work, done, failure="Could not list the pictures")

    def close(self) -> None:
        self.previews.stop()
        if self.dialog is not None:
            self.dialog.close()

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        count = 0 if info is None else info.count
        several = count > 1
        words = tr("Paint all {n}...", n=number(count)) if several else tr("Paint all...")
        self._action.setText(words)
        self._action.setIconText(words)  # which Qt would shorten by its dots
        set_available(self._action, tip_of(ACTION), "" if several else tr(TOO_FEW))

    def _place(self, paths: tuple[Path, ...], looks: list[EngineConfig]) -> PaintPlace:
        """Return the place for the paintings; reads folders, so call it on another thread."""
        known, chosen = self._queue.store.queue.jobs()[0], self._chosen
        if chosen is not None and chosen.is_dir():
            return chosen_place(chosen, paths, looks, known)
        return usual_place(usual_folder(paths), known)

    def _open(self, tiles: list[Tile], place: PaintPlace, shown: Path) -> None:
        dialog = self.dialog = self.dialog or self._make_dialog()
        dialog.show_pictures(len(self._paths), tiles, place)
        single = [look.styles[0] if len(look.styles) == 1 else "" for look in self._looks]
        ready = {
            at: made for at, key in enumerate(single) if (made := self._known(key)) is not None
        }
        self.previews.start(shown, self._looks, self.new_painter(), ready)
        dialog.open()

    def _make_dialog(self) -> PaintAllDialog:
        made = PaintAllDialog(self._context.window, self._ask_place, self._paint, self._time_of)
        made.finished.connect(lambda _: self.previews.stop())
        self.previews.read.connect(made.tiles.show_picture)
        self.previews.painted.connect(made.tiles.show_painting)
        self.previews.failed.connect(made.tiles.refuse)
        return made

    def _offered(self) -> tuple[list[EngineConfig], list[Tile]]:
        """Return each style with its tile, ticked for the one on screen; a mix there is first."""
        config = self._session.config
        mixed = len(config.parts) > 1
        looks = [config] if mixed else []
        tiles = [Tile(self._look(), True)] if mixed else []
        for style in self._styles():
            looks.append(config.mixed([(style.key, 1.0)]))
            tiles.append(Tile(style.title, not mixed and style.key == config.style))
        return looks, tiles

    def _ask_place(self) -> None:
        paths, looks = self._paths, self._looks

        def chosen(names: list[str]) -> None:
            self._chosen = Path(names[0])

            def done(place: PaintPlace) -> None:
                if self.dialog is not None:
                    self.dialog.show_place(place)

            work = partial(self._place, paths, looks)
            self._session.run(work, done, failure="Could not look into the folder")

        assert self.dialog is not None
        title, mode = tr("Choose the folder for the paintings"), QFileDialog.FileMode.Directory
        beside = self._paths[0].parent
        picker = self._context.dialogs
        picker.dialog(self.dialog, title, PAINT_FOLDER, mode, chosen, beside).open()

    def _time_of(self, count: int) -> str:
        """Return how long `count` pictures take, as measured on the last ones."""
        each = self._queue.runner.forecast.per_picture
        if each is None:
            return tr("The time left is shown after the first pictures.")
        return tr(
            "About {duration}, if they take as long as the last pictures.",
            duration=format_duration(each * count),
        )

    def _paint(self, ticked: list[int], long_side: int | None, place: PaintPlace) -> None:
        looks = tuple(self._looks[at] for at in ticked)
        order = PaintAllOrder(self._paths, looks, place.folder, long_side, place.chosen)
        self._queue.add_and_start(order.jobs)
