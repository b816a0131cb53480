"""Adds chosen and dropped files, and files from the watched folder, to the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from app.batch.queue.job_queue import JobQueue
from app.batch.queue.watched_folder import WatchedFolder, not_queued
from app.errors import Problem
from app.ui.controllers.exporter import pictures_folder
from app.ui.file_dialogs import OPEN_FILES, OPEN_FOLDER, QUEUE_FOLDER, FileKind
from app.ui.queue.adding_bar import StyleName
from app.ui.queue.control.words import left_out_words
from app.ui.queue.look import Order
from app.ui.queue.page import QueuePage
from app.ui.queue.store import QueueStore
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

DIRECTORY = QFileDialog.FileMode.Directory
SEVERAL = QFileDialog.FileMode.ExistingFiles
SAME_FOLDER = mark("The results cannot go into the watched folder: the queue would add them again")
LEFT_OUT_ADVICE = mark("The others were added. Convert this one with another program first.")
INTERVAL_MS = 2000  # a picture is queued once unchanged for this long


class QueueAdding(QObject):
    """Holds the options for added files, and shows them on the page once it exists."""

    def __init__(self, context: WindowContext, store: QueueStore, look: Callable[[], str]) -> None:
        super().__init__(context.window)
        session, settings = self._session, self._settings = context.session, context.settings
        self._store, self._look, self._window = store, look, context.window
        self._keep, self._picker = context.keep, context.dialogs
        self.page: QueuePage | None = None
        self.watching = FolderWatch(store, self.order, self)
        self.watching.stopped.connect(lambda: self._keep(watched_folder=""))
        self.watching.stopped.connect(self.update)
        for changed in (session.config_changed, session.styles_changed):
            changed.connect(self.update)
        if settings().watched_folder:
            self.watching.watch(Path(settings().watched_folder))

    def show_on(self, page: QueuePage) -> None:
        """Show the options on this page, and follow its choices."""
        self.page = page
        page.actions_by_key["skip"].setChecked(self._settings().queue_skip)
        page.dropped.connect(self.add)
        page.adding.menu.chosen.connect(self._choose_styles)
        page.adding.menu.aboutToShow.connect(self._fill_styles)
        self.update()

    def order(self) -> Order:
        """Return the order for files added now."""
        config, settings = self._session.config, self._settings()
        known = self._session.catalog.titles.keys()
        keys = [key for key in settings.queue_styles.split("\n") if key in known]
        looks = tuple(config.mixed([(key, 1.0)]) for key in keys) or (config,)
        return Order(looks, self._output(), settings.queue_skip)

    def add(self, paths: Sequence[Path]) -> None:
        """Append files and folders to the queue, once per chosen style."""
        order = self.order()

        def work(queue: JobQueue) -> tuple[list[int], list[Path]]:
            made, left_out = order.jobs(paths, queue.jobs()[0])
            return [job.number for job in queue.add_all(made)] if made else [], left_out

        def done(result: tuple[list[int], list[Path]]) -> None:
            numbers, left_out = result
            if left_out:
                problem = Problem(left_out_words(left_out), advice=tr(LEFT_OUT_ADVICE))
                self._session.problem.emit(problem)
            if self.page is not None:
                self.page.list.choose(numbers[:1])

        self._store.change(work, done, failure="Could not add to the queue")

    def ask_files(self) -> None:
        self._ask(tr("Add pictures and films to the queue"), OPEN_FILES, self._add_names, SEVERAL)

    def ask_folder(self) -> None:
        self._ask(tr("Add a folder to the queue"), OPEN_FOLDER, self._add_names)

    def ask_output(self) -> None:
        def chosen(names: list[str]) -> None:
            folder = Path(names[0])
            if self.watching.folder == folder:
                self._refuse_folder()
                return
            self._keep(queue_folder=str(folder))
            self.update()

        title = tr("Choose the folder for the results")
        self._ask(title, QUEUE_FOLDER, chosen, DIRECTORY, self._output())

    def toggle_watch(self) -> None:
        """Ask for a folder to watch, or stop watching."""
        watched = self.watching.folder is not None
        if self.page is not None:
            self.page.actions_by_key["watch"].setChecked(watched)  # until the user chooses one
        if watched:
            self._watch(None)
            return
        self._ask(tr("Watch a folder"), OPEN_FOLDER, lambda names: self._watch(Path(names[0])))

    def keep_skip(self) -> None:
        """Store the page's choice of skipping files that have results."""
        if self.page is not None:
            self._keep(queue_skip=self.page.actions_by_key["skip"].isChecked())

    def pop_up_styles(self) -> None:
        if self.page is not None:
            self.page.adding.pop_up_styles()

    def update(self, *_: object) -> None:
        if self.page is None:
            return
        titles = self._session.catalog.titles
        keys = [key for key in self._settings().queue_styles.split("\n") if key in titles]
        self.page.adding.show_styles([titles[key] for key in keys] or [self._look()])
        self.page.adding.show_output(self._output())
        self.page.adding.show_watched(self.watching.folder)

    def _ask(
        self,
        title: str,
        kind: FileKind,
        chosen: Callable[[list[str]], object],
        mode: QFileDialog.FileMode = DIRECTORY,
        *places: Path,
    ) -> None:
        self._picker.dialog(self._window, title, kind, mode, chosen, *places).open()

    def _add_names(self, names: list[str]) -> None:
        self.add([Path(name) for name in names])

    def _fill_styles(self) -> None:
        assert self.page is not None
        styles = [StyleName(each.key, each.title) for each in self._session.catalog.styles]
        keys = self._settings().queue_styles.split("\n")
        self.page.adding.menu.fill(styles, keys, self._look())

    def _choose_styles(self, keys: tuple[str, ...]) -> None:
        self._keep(queue_styles="\n".join(keys))
        self.update()

    def _output(self) -> Path:
        kept = self._settings().queue_folder
        return Path(kept) if kept else pictures_folder()

    def _watch(self, folder: Path | None) -> None:
        if folder is not None and folder == self._output():
            self._refuse_folder()
            return
        self.watching.watch(folder)
        self._keep(watched_folder="" if folder is None else str(folder))
        self.update()

    def _refuse_folder(self) -> None:
        problem = Problem(tr(SAME_FOLDER), advice=tr("Choose another folder."))
        self._session.problem.emit(problem)


class FolderWatch(QObject):
    """Watches one folder at a time, until it cannot be read.

    `added(count)` is emitted after jobs are added, `stopped()` after a fault is reported.
    """

    added = Signal(int)
    stopped = Signal()

    def __init__(
        self, store: QueueStore, order: Callable[[], Order], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._order = store, order
        self._folder: Path | None = None
        self._watched: WatchedFolder | None = None  # used by the store's thread
        self._looking = False
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self._look)

    @property
    def folder(self) -> Path | None:
        return self._folder

    def watch(self, folder: Path | None) -> None:
        """Watch a folder, or stop watching if None."""
        if folder == self._folder:
            return
        self._folder = folder
        self._watched = None if folder is None else WatchedFolder(folder.absolute())
        self._looking = False
        if folder is None:
            self._timer.stop()
        else:
            self._timer.start()
            self._look()

    def _look(self) -> None:
        watched, order = self._watched, self._order()
        if watched is None or self._looking:
            return
        self._looking = True

        def work(queue: JobQueue) -> int:
            known, _ = queue.jobs()
            new = not_queued(watched.settled(), known)
            made, _ = order.jobs(new, known)
            return len(queue.add_all(made)) if made else 0

        def done(count: int) -> None:
            self._looking = False
            if count:
                self.added.emit(count)

        def failed() -> None:
            if watched is self._watched:
                self.watch(None)
                self.stopped.emit()

        self._store.change(work, done, failed, failure="Could not watch the folder")
