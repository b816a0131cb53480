"""Connects the queue's page with its files, its process and the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget

from app.batch.queue.job import QueuedJob
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.overview import JobView
from app.ui.actions import apply_icons
from app.ui.queue.actions import QUEUE_ACTIONS
from app.ui.queue.control.adding import QueueAdding
from app.ui.queue.control.enabling import enable_actions
from app.ui.queue.control.entries import QueueEntries
from app.ui.queue.control.results import QueueResults
from app.ui.queue.control.words import (
    counts,
    done_share,
    end_words,
    size_of,
    stream_words,
    summary_words,
)
from app.ui.queue.page import QueuePage
from app.ui.queue.row_model import ROW, RowModel
from app.ui.queue.rows import Row, RowState, rows_of, with_progress
from app.ui.queue.runner import QueueRunner
from app.ui.queue.store import QueueStore
from app.ui.queue.thumbnails import Thumbnails
from app.ui.theme.icons import icon
from app.ui.theme.theme import Theme
from app.ui.window_context import WindowContext
from utils.translation.texts import tr, trn

LOOK_MS = 1000  # interval for reading the queue's files, which other processes may change


class QueueController(QObject):
    """Shows the page instead of the picture, and runs the queue whether visible or not.

    `shown_changed()` follows showing and hiding; `words_changed(str)` carries the progress of a
    running queue.
    """

    shown_changed = Signal()
    words_changed = Signal(str)

    def __init__(self, context: WindowContext, look: Callable[[], str], theme: Theme) -> None:
        super().__init__(context.window)
        session, picture = self._session, self._picture = context.session, context.viewport
        self._questions, self._notices, self._theme = context.questions, context.notices, theme
        self._offer = context.actions["paint_all"]
        self.pages = QStackedWidget(context.window)
        self.pages.addWidget(picture)
        self.pages.setFocusProxy(picture)
        self.page: QueuePage | None = None  # created when first shown
        self._covered = 0
        self.store = QueueStore(JobQueue.default(), self)
        self.runner = QueueRunner(self.store.queue.root, self)
        self._adding = QueueAdding(context, self.store, look)
        self.watching = self._adding.watching
        self.model = RowModel(Thumbnails(session.run, self), self)
        entries = self._entries = QueueEntries(session, self.store, lambda: self.rows, self._chosen)
        self.results = QueueResults(
            session,
            self._notices,
            self.store,
            entries,
            self.pages,
            theme.add_widget,
            self.show,
        )
        self._finished: set[int] = set()  # jobs that ended since the queue was idle
        self._looked = False
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.store.refresh)
        self._connect()
        self.store.refresh()

    def _connect(self) -> None:
        self.store.read.connect(self._show_views)
        for source in (self.store, self.runner):
            source.problem.connect(self._session.problem)
        self.runner.notice.connect(self._session.notice)
        self.runner.changed.connect(self._update)
        self.runner.job_changed.connect(self.store.refresh)
        self.runner.job_changed.connect(self._update)
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._on_ended)
        self.model.moved.connect(self._entries.move)
        self.watching.added.connect(self._on_watched)
        for changed in (self._session.paused_changed, self._session.source_changed):
            changed.connect(self._update_stream)
        self._theme.changed.connect(lambda _: self._apply_icons())

    # The page

    @property
    def shown(self) -> bool:
        """Whether the page, or a result of the queue, takes the place of the picture."""
        return self.pages.currentWidget() is not self._picture

    @property
    def rows(self) -> Sequence[Row]:
        """The rows, in running order."""
        return self.model.rows

    @property
    def actions(self) -> dict[str, QAction]:
        """The page's actions by key; empty before it is first shown."""
        return {} if self.page is None else self.page.actions_by_key

    def toggle(self) -> None:
        (self.hide if self.shown else self.show)()

    def show(self) -> None:
        page = self.page or self._make_page()
        self.pages.setCurrentWidget(page)
        self.pages.setFocusProxy(page.list)
        page.list.setFocus()
        self._timer.start()
        self.store.refresh()
        self._update()
        self.shown_changed.emit()

    def hide(self) -> None:
        """Show the picture again; the queue keeps running."""
        if self.shown:
            self.pages.setCurrentWidget(self._picture)
            self.pages.setFocusProxy(self._picture)
            self._picture.setFocus()
            self._update()
            self.shown_changed.emit()

    def set_covered_height(self, height: int) -> None:
        """Let the rows be scrolled above messages that cover the bottom `height` pixels."""
        self._covered = height
        if self.page is not None:
            self.page.set_covered_height(height)

    def _make_page(self) -> QueuePage:
        adding, entries = self._adding, self._entries
        slots = {
            "add": adding.ask_files,
            "add_folder": adding.ask_folder,
            "styles": adding.pop_up_styles,
            "output": adding.ask_output,
            "skip": adding.keep_skip,
            "watch": adding.toggle_watch,
            "start": self.start_or_stop,
            "results": lambda: self.results.show_all(self.rows, self._chosen()),
            "finish": lambda: self.runner.finish(self.actions["finish"].isChecked()),
            "open": lambda: entries.open_result(folder=False),
            "reveal": lambda: entries.open_result(folder=True),
            "up": lambda: entries.shift(-1),
            "down": lambda: entries.shift(1),
            "first": lambda: entries.shift_to_end(first=True),
            "last": lambda: entries.shift_to_end(first=False),
            "retry": lambda: entries.retry(self.runner.start),
            "remove": entries.remove,
            "clear": entries.clear,
        }
        self.page = page = QueuePage(self.model, slots, self._offer, self.pages)
        self._apply_icons()
        self._theme.add_widget(page)
        self.pages.addWidget(page)
        page.set_covered_height(self._covered)
        page.list.doubleClicked.connect(lambda index: self.results.show(index.data(ROW)))
        page.list.selectionModel().selectionChanged.connect(lambda *_: self._update_actions())
        adding.show_on(page)
        self._update_stream()
        return page

    # Adding

    def ask_add(self, paths: Sequence[Path], strip: Callable[[], object] | None) -> None:
        """Ask what to do with several dropped files; films alone go to the queue.

        Args:
            strip: Opens the pictures among them; None without pictures.
        """
        if strip is None:
            self._show_and_add(paths)
            return
        self._questions.ask(
            tr(
                "{n} files were dropped: paint all of them, or step through the pictures?",
                n=len(paths),
            ),
            tr("&Add to the queue"),
            lambda _: self._show_and_add(paths),
            other=tr("Open as a &strip"),
            on_other=strip,
        )

    def _show_and_add(self, paths: Sequence[Path]) -> None:
        self.show()
        self.add(paths)

    def add(self, paths: Sequence[Path]) -> None:
        """Append files and folders to the queue, once per chosen style."""
        self._adding.add(paths)

    def add_and_start(self, made: Callable[[Sequence[QueuedJob]], list[list[str]]]) -> None:
        """Add jobs before those that wait, show them and run them, but not the older ones.

        Args:
            made: Returns their arguments, given the jobs of the queue; called on another thread.
        """
        self.show()

        def work(queue: JobQueue) -> tuple[list[int], list[int]]:
            known, _ = queue.jobs()
            waiting = queue.waiting(known)
            numbers = [job.number for job in queue.add_all(made(known))]
            if waiting:
                queue.arrange(numbers, waiting[0])
            return numbers, waiting

        def done(added: tuple[list[int], list[int]]) -> None:
            numbers, waiting = added
            if self.page is not None:
                self.page.list.choose(numbers[:1])
            self.runner.start(waiting)

        self.store.change(work, done, failure="Could not add to the queue")

    def _on_watched(self, count: int) -> None:
        self._session.notice.emit(
            trn(
                "Added {n} file from the watched folder to the queue",
                "Added {n} files from the watched folder to the queue",
                count,
            )
        )
        self.runner.start()

    # Running

    def start_or_stop(self) -> None:
        (self.runner.stop if self.runner.running else self.runner.start)()

    def _on_ended(self, all_run: bool) -> None:
        def again(_: object) -> None:
            # Another process runs jobs that were added while this one was ending.
            runner, waiting = self.runner, [row for row in self.rows if row.state.waits]
            if (
                all_run
                and not runner.running
                and any(row.number not in runner.left for row in waiting)
            ):
                runner.start(runner.left)
            elif ended := [row for row in self.rows if row.number in self._finished]:
                said = end_words(self.rows, ended, stopped=runner.stopped)
                self.results.say_end(said, ended, offer=not self.shown)
            self._finished.clear()

        self.store.change(lambda queue: None, again, failure="Could not read the queue")

    # Showing

    def _show_views(self, views: list[JobView]) -> None:
        titles = self._session.catalog.titles
        rows = rows_of(views, titles, self.runner.number)
        before = {row.number: row.state for row in self.rows}
        for row in rows:
            ended = row.state.ended or row.state is RowState.FAILED
            if ended and row.number in before and before[row.number] is RowState.RUNNING:
                self._finished.add(row.number)
        progress = self.runner.progress
        if progress is not None:
            rows = [with_progress(row, progress) for row in rows]
        self.model.set_rows(rows)
        self._update()
        if not self._looked:
            self._looked = True
            self._offer_to_continue()

    def _offer_to_continue(self) -> None:
        """Offer at startup to continue a queue from an earlier run of the program."""
        waiting = sum(row.state.waits for row in self.rows)
        elsewhere = any(row.state is RowState.ELSEWHERE for row in self.rows)
        if not waiting or elsewhere or self.runner.running:
            return
        self._notices.show_offer(
            trn("The queue has {n} waiting entry", "The queue has {n} waiting entries", waiting),
            tr("&Continue the queue"),
            tr("Continue the queue where it stopped"),
            self._show_and_start,
        )

    def _show_and_start(self) -> None:
        self.show()
        self.runner.start()

    def _show_progress(self) -> None:
        progress = self.runner.progress
        if progress is not None:
            at = self.model.row_of(progress.number)
            if at >= 0:
                self.model.replace(with_progress(self.rows[at], progress))
        self._update_summary()

    def _update(self) -> None:
        if self.shown or self.runner.running:
            self._timer.start()
        else:
            self._timer.stop()
        self._update_summary()
        self._update_actions()
        self._update_stream()

    def _update_summary(self) -> None:
        runner = self.runner
        rows = [row for row in self.rows if not runner.running or row.number not in runner.left]
        if self.page is not None:
            self.page.show_summary(summary_words(rows, runner), done_share(rows, runner))
        told = tr("{done} of {n}", done=sum(counts(rows)), n=size_of(rows))
        self.words_changed.emit(told if runner.running else "")

    def _update_actions(self) -> None:
        if self.page is not None:
            enable_actions(self.page, self.rows, self.runner, self._theme.tokens)
            self.page.faults.show_faults(self.rows, self._chosen())

    def _update_stream(self, *_: object) -> None:
        """Show whether the hidden stream uses part of the machine."""
        if self.page is not None:
            session = self._session
            beside = self.runner.running and session.info is not None and not session.still
            self.page.show_stream(stream_words(paused=session.paused) if beside else "")

    def _apply_icons(self) -> None:
        if self.page is not None:
            for _ in apply_icons(self.actions, self._theme.tokens, QUEUE_ACTIONS):
                pass
            for name in ("play", "stop"):  # read now, not when the queue starts
                icon(name, self._theme.tokens)
            self._update_actions()

    def _chosen(self) -> list[Row]:
        return [] if self.page is None else self.page.list.chosen()

    # The end

    @property
    def busy(self) -> bool:
        """Whether the queue runs or is being written."""
        return self.runner.running or self.store.changing

    def leave(self) -> None:
        """Stop the queue before the program ends; it can be continued later."""
        self.watching.watch(None)
        self.runner.stop()

    def close(self) -> None:
        """Stop the process, and complete the current write."""
        self._timer.stop()
        self.watching.watch(None)
        self.runner.close()
        self.store.close()
