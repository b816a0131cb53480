"""Connects the queue's page with its files and its process, and with the window around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QWidget

from app.batch.job_queue import JobQueue
from app.batch.overview import JobView
from app.errors import Problem
from app.live.session import Session
from app.settings import Settings
from app.translation.texts import mark, tr, trn
from app.ui.actions import apply_icons
from app.ui.controllers.exporter import pictures_folder
from app.ui.file_dialogs import OPEN_FILES, OPEN_FOLDER, QUEUE_FOLDER, FileDialogs
from app.ui.queue.actions import QUEUE_ACTIONS
from app.ui.queue.adding_bar import StyleName
from app.ui.queue.look import Order
from app.ui.queue.page import QueuePage
from app.ui.queue.row_model import RowModel
from app.ui.queue.rows import Row, RowState, rows_of, with_progress, work_of
from app.ui.queue.runner import Phase, QueueRunner
from app.ui.queue.store import QueueStore
from app.ui.queue.thumbnails import Thumbnails
from app.ui.queue.watching import FolderWatch
from app.ui.theme.icons import icon
from app.ui.theme.theme import Theme
from app.ui.widgets.message_bars import NoticeBar
from app.ui.widgets.prompt_bar import PromptBar
from utils.text import printable

LOOK_MS = 1000  # between looks at the queue's files, which other processes may change
DIRECTORY = QFileDialog.FileMode.Directory
SAME_FOLDER = mark("The results cannot go into the watched folder: they would be queued in turn")
GONE_ADVICE = mark("It was moved or deleted; run the job again to make a new one.")
NO_PROGRAM_ADVICE = mark("Choose a program for such files in the system's settings.")
LEFT_OUT_ADVICE = mark("The others were added. Convert this one with another program first.")


class QueueController(QObject):
    """Shows the page in place of the picture, and runs the queue whether it is shown or not.

    `shown_changed()` follows a change of what is shown, `words_changed(str)` how far the queue is
    while it runs. The window is asked to close by `ready_to_close()`.

    Args:
        session: The live session; its config is the look on screen.
        picture: What the page takes the place of.
        look: Returns the title of the look on screen.
        settings: Returns the window's settings.
        keep: Changes them.
        picker: Makes file dialogs.
        questions: Asks the user.
        notices: Says and offers something.
        theme: Dresses the page.
        parent: The window.
    """

    shown_changed = Signal()
    words_changed = Signal(str)
    ready_to_close = Signal()

    def __init__(
        self,
        session: Session,
        picture: QWidget,
        look: Callable[[], str],
        settings: Callable[[], Settings],
        keep: Callable[..., None],
        picker: FileDialogs,
        questions: PromptBar,
        notices: NoticeBar,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._picture, self._look = session, picture, look
        self._settings, self._keep, self._picker = settings, keep, picker
        self._questions, self._notices, self._theme = questions, notices, theme
        self._window = parent
        self.pages = QStackedWidget(parent)
        self.pages.addWidget(picture)
        self.pages.setFocusProxy(picture)
        self.page: QueuePage | None = None  # made when it is shown first
        self._actions: dict[str, QAction] = {}
        self._covered = 0
        self.store = QueueStore(JobQueue.default(), self)
        self.runner = QueueRunner(self.store.queue.root, self)
        self.watching = FolderWatch(self.store, self.order, self)
        self.model = RowModel(Thumbnails(session.run, self), self)
        self._finished: set[int] = set()  # jobs that ended since the queue was idle
        self._quit_asked = self._looked = False
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.store.refresh)
        self._connect()
        if settings().watched_folder:
            self.watching.watch(Path(settings().watched_folder))
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
        self.model.moved.connect(self.move)
        self.watching.added.connect(self._on_watched)
        self.watching.stopped.connect(lambda: self._keep(watched_folder=""))
        self.watching.stopped.connect(self._update_adding)
        for changed in (self._session.paused_changed, self._session.source_changed):
            changed.connect(self._update_stream)
        for changed in (self._session.config_changed, self._session.styles_changed):
            changed.connect(self._update_adding)
        self._theme.changed.connect(lambda _: self._apply_icons())

    # The page

    @property
    def shown(self) -> bool:
        """Whether the page is shown in place of the picture."""
        return self.page is not None and self.pages.currentWidget() is self.page

    @property
    def rows(self) -> Sequence[Row]:
        """The rows, in the order in which they run."""
        return self.model.rows

    @property
    def actions(self) -> dict[str, QAction]:
        """The page's actions by key; they are there once it was shown."""
        return self._actions

    def toggle(self) -> None:
        """Show the page, or the picture again."""
        (self.hide if self.shown else self.show)()

    def show(self) -> None:
        """Show the page in place of the picture."""
        if self.page is None:
            self._make_page()
        assert self.page is not None
        self.pages.setCurrentWidget(self.page)
        self.pages.setFocusProxy(self.page.list)
        self.page.list.setFocus()
        self._timer.start()
        self.store.refresh()
        self._update()
        self.shown_changed.emit()

    def hide(self) -> None:
        """Show the picture again; the queue goes on."""
        if self.shown:
            self.pages.setCurrentWidget(self._picture)
            self.pages.setFocusProxy(self._picture)
            self._picture.setFocus()
            self._update()
            self.shown_changed.emit()

    def set_covered_height(self, height: int) -> None:
        """Keep the page clear of messages, which cover the top of it, in pixels."""
        self._covered = height
        if self.page is not None:
            self.page.set_covered_height(height)

    def _make_page(self) -> None:
        slots = {
            "add": self._ask_files,
            "add_folder": self._ask_folder,
            "styles": self._pop_up_styles,
            "output": self._ask_output,
            "skip": lambda: self._keep(queue_skip=self._actions["skip"].isChecked()),
            "watch": self._toggle_watch,
            "start": self.start_or_stop,
            "finish": lambda: self.runner.finish(self._actions["finish"].isChecked()),
            "open": lambda: self._open_result(folder=False),
            "reveal": lambda: self._open_result(folder=True),
            "up": lambda: self._shift(-1),
            "down": lambda: self._shift(1),
            "first": lambda: self._shift(-len(self.rows)),
            "last": lambda: self._shift(len(self.rows)),
            "retry": self.retry,
            "remove": lambda: self._remove([row.number for row in self._chosen()]),
            "clear": lambda: self._remove([row.number for row in self.rows if row.state.ended]),
        }
        self.page = page = QueuePage(self.model, slots, self.pages)
        self._actions = page.actions_by_key
        self._apply_icons()
        self._theme.add_widget(page)
        self.pages.addWidget(page)
        self._actions["skip"].setChecked(self._settings().queue_skip)
        page.set_covered_height(self._covered)
        page.dropped.connect(self.add)
        page.adding.menu.chosen.connect(self._choose_styles)
        page.adding.menu.aboutToShow.connect(self._fill_styles)
        page.list.doubleClicked.connect(lambda _: self._open_result(folder=False))
        page.list.selectionModel().selectionChanged.connect(lambda *_: self._update_actions())
        self._update_adding()
        self._update_stream()

    # Adding

    def order(self) -> Order:
        """What is made of the files that are added now."""
        config, settings = self._session.config, self._settings()
        known = {style.key for style in self._session.library.styles}
        keys = [key for key in settings.queue_styles.split("\n") if key in known]
        looks = tuple(config.mixed([(key, 1.0)]) for key in keys) or (config,)
        return Order(looks, self._output(), settings.queue_skip)

    def ask_add(self, paths: Sequence[Path], strip: Callable[[], object] | None) -> None:
        """Ask what to do with several files that were dropped; films alone go to the queue.

        Args:
            paths: The files.
            strip: Opens the pictures among them; None where there are none.
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
        """Add files and folders at the end, each in every style that is chosen."""
        order = self.order()

        def work(queue: JobQueue) -> tuple[list[int], list[Path]]:
            made, left_out = order.jobs(paths, queue.jobs()[0])
            return [job.number for job in queue.add_all(made)] if made else [], left_out

        def done(result: tuple[list[int], list[Path]]) -> None:
            numbers, left_out = result
            if left_out:
                self._session.problem.emit(Problem(_left_out(left_out), advice=tr(LEFT_OUT_ADVICE)))
            if self.page is not None:
                self.page.list.choose(numbers)

        self.store.change(work, done, doing="add to the queue")

    def _ask_files(self) -> None:
        several = QFileDialog.FileMode.ExistingFiles
        title = tr("Add pictures and films to the queue")
        chosen = self._picker.dialog(self._window, title, OPEN_FILES, several, self._add_names)
        chosen.open()

    def _ask_folder(self) -> None:
        title = tr("Add a folder to the queue")
        chosen = self._picker.dialog(self._window, title, OPEN_FOLDER, DIRECTORY, self._add_names)
        chosen.open()

    def _add_names(self, names: list[str]) -> None:
        self.add([Path(name) for name in names])

    def _pop_up_styles(self) -> None:
        if self.page is not None:
            self.page.adding.pop_up_styles()

    def _fill_styles(self) -> None:
        assert self.page is not None
        styles = [StyleName(each.key, each.title) for each in self._session.library.styles]
        keys = self._settings().queue_styles.split("\n")
        self.page.adding.menu.fill(styles, keys, self._look())

    def _choose_styles(self, keys: tuple[str, ...]) -> None:
        self._keep(queue_styles="\n".join(keys))
        self._update_adding()

    def _output(self) -> Path:
        kept = self._settings().queue_folder
        return Path(kept) if kept else pictures_folder()

    def _ask_output(self) -> None:
        def chosen(names: list[str]) -> None:
            folder = Path(names[0])
            if self.watching.folder == folder:
                self._refuse_folder()
                return
            self._keep(queue_folder=str(folder))
            self._update_adding()

        title = tr("Choose the folder for the results")
        where = self._output()
        self._picker.dialog(self._window, title, QUEUE_FOLDER, DIRECTORY, chosen, where).open()

    def _toggle_watch(self) -> None:
        self._actions["watch"].setChecked(self.watching.folder is not None)  # until one is chosen
        if self.watching.folder is not None:
            self._watch(None)
            return
        title = tr("Watch a folder")

        def chosen(names: list[str]) -> None:
            self._watch(Path(names[0]))

        self._picker.dialog(self._window, title, OPEN_FOLDER, DIRECTORY, chosen).open()

    def _watch(self, folder: Path | None) -> None:
        if folder is not None and folder == self._output():
            self._refuse_folder()
            return
        self.watching.watch(folder)
        self._keep(watched_folder="" if folder is None else str(folder))
        self._update_adding()

    def _refuse_folder(self) -> None:
        problem = Problem(tr(SAME_FOLDER), advice=tr("Choose another folder."))
        self._session.problem.emit(problem)

    def _on_watched(self, count: int) -> None:
        self._session.notice.emit(tr("{n} new from the watched folder in the queue", n=count))
        self.runner.start()

    # Running

    def start_or_stop(self) -> None:
        """Run the queue, or stop it now."""
        (self.runner.stop if self.runner.running else self.runner.start)()

    def retry(self) -> None:
        """Have the chosen rows that failed wait again; without any of these, all that failed."""
        failed = [row for row in self._chosen() if row.state is RowState.FAILED]
        failed = failed or [row for row in self.rows if row.state is RowState.FAILED]
        numbers = [row.number for row in failed]

        def work(queue: JobQueue) -> None:
            for number in numbers:
                queue.retry(number)

        self.store.change(work, doing="try again")

    def move(self, numbers: Sequence[int], before: int | None) -> None:
        """Have jobs run in another place of the order; `before` is a job's number, None the end."""
        self.store.change(
            lambda queue: queue.arrange(numbers, before), doing="change the order of the queue"
        )

    def _shift(self, count: int) -> None:
        """Move the chosen rows up (negative) or down by so many rows."""
        order = [row.number for row in self.rows]
        chosen = [row.number for row in self._chosen()]
        if not chosen:
            return
        others = [number for number in order if number not in chosen]
        ahead = order.index(chosen[0] if count < 0 else chosen[-1])
        place = ahead if count < 0 else ahead + 1 - len(chosen)
        place = min(len(others), max(0, place + count))
        self.move(chosen, others[place] if place < len(others) else None)

    def _remove(self, numbers: Sequence[int]) -> None:
        def work(queue: JobQueue) -> None:
            for number in numbers:
                queue.remove(number)

        if numbers:
            self.store.change(work, doing="remove from the queue")

    def _open_result(self, *, folder: bool) -> None:
        chosen = self._chosen()
        if len(chosen) != 1 or not chosen[0].result:
            return
        path = Path(chosen[0].result)
        where = path.parent if folder and not chosen[0].several else path
        name = printable(where.name)

        def opened(there: bool) -> None:
            if not there:
                said = tr("'{name}' is not there any more", name=name)
                self._session.problem.emit(Problem(said, advice=tr(GONE_ADVICE)))
            elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(where))):
                said = tr("No program opens '{name}'", name=name)
                self._session.problem.emit(Problem(said, advice=tr(NO_PROGRAM_ADVICE)))

        self._session.run(where.exists, opened, doing=tr("open {name}", name=name))

    def _on_ended(self, all_run: bool) -> None:
        if self._quit_asked:
            self.ready_to_close.emit()
            return

        def again(_: object) -> None:
            # What was added while the process was ending is run by another one.
            if all_run and any(row.state.waits for row in self.rows) and not self.runner.running:
                self.runner.start()
            elif not self.shown:
                self._say_end()
            self._finished.clear()

        self.store.change(lambda queue: None, again, doing="read the queue")

    def _say_end(self) -> None:
        ended = [row for row in self.rows if row.number in self._finished]
        failed = sum(row.state is RowState.FAILED for row in ended)
        if ended:
            done = len(ended) - failed
            said = tr("The queue has ended: {done} done", done=done)
            if failed:
                said = tr(
                    "The queue has ended: {done} done, {failed} failed", done=done, failed=failed
                )
            self._session.notice.emit(said)

    # Showing

    def _show_views(self, views: list[JobView]) -> None:
        titles = {style.key: style.title for style in self._session.library.styles}
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
        """Offer at the start to go on with what an earlier run of the program has left."""
        waiting = sum(row.state.waits for row in self.rows)
        elsewhere = any(row.state is RowState.ELSEWHERE for row in self.rows)
        if not waiting or elsewhere or self.runner.running:
            return
        self._notices.show_offer(
            trn(
                "The queue has {n} entry that waits", "The queue has {n} entries that wait", waiting
            ),
            tr("&Continue the queue"),
            tr("Run the queue where it was stopped"),
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
        """Show everything that follows from the rows and the process."""
        if self.shown or self.runner.running:
            self._timer.start()
        else:
            self._timer.stop()
        self._update_summary()
        self._update_actions()
        self._update_stream()

    def _update_summary(self) -> None:
        rows = self.rows
        ended = sum(row.state.ended for row in rows)
        failed = sum(row.state is RowState.FAILED for row in rows)
        words = self._summary_words(ended, failed)
        running = self.runner.running
        share = None
        if running and rows:
            progress = self.runner.progress
            share = (ended + failed + ((progress.share or 0.0) if progress else 0.0)) / len(rows)
        if self.page is not None:
            self.page.show_summary(words, share)
        told = tr("{done} of {n}", done=ended + failed, n=len(rows))
        self.words_changed.emit(told if running else "")

    def _summary_words(self, ended: int, failed: int) -> str:
        rows, runner = self.rows, self.runner
        if not rows:
            return ""
        words = [tr("{done} of {n} done", done=ended, n=len(rows))]
        if failed:
            words.append(tr("{n} failed", n=failed))
        if runner.phase is Phase.STARTING:
            words.append(tr("starting"))
        elif runner.phase is Phase.STOPPING:
            words.append(tr("stopping"))
        elif runner.finishing:
            words.append(tr("stops after this one"))
        elif runner.running:
            words.append(runner.forecast.words(work_of(rows, runner.progress)))
        return " · ".join(filter(None, words))

    def _update_actions(self) -> None:
        if self.page is None:
            return
        actions, rows, chosen = self._actions, self.rows, self._chosen()
        waiting = any(row.state.waits for row in rows)
        running = self.runner.running
        stopping = self.runner.phase is Phase.STOPPING
        actions["start"].setEnabled((waiting or running) and not stopping)
        actions["start"].setText(tr("Stop") if running else tr("Start"))
        name, tokens = ("stop" if running else "play"), self._theme.tokens
        enabled = actions["start"].isEnabled()
        color = "" if running or not enabled else tokens.on_accent
        actions["start"].setIcon(icon(name, replace(tokens, text=color) if color else tokens))
        self.page.show_running(running or not enabled)
        actions["finish"].setEnabled(running and not stopping)
        actions["finish"].setChecked(self.runner.finishing)
        actions["retry"].setEnabled(any(row.state is RowState.FAILED for row in rows))
        taken = (RowState.RUNNING, RowState.ELSEWHERE)
        free = bool(chosen) and all(row.state not in taken for row in chosen)
        actions["remove"].setEnabled(free)
        actions["clear"].setEnabled(any(row.state.ended for row in rows))
        for key in ("up", "down", "first", "last"):
            actions[key].setEnabled(bool(chosen))
        made = len(chosen) == 1 and bool(chosen[0].result) and chosen[0].state.ended
        made = made or (len(chosen) == 1 and chosen[0].several and chosen[0].done > 0)
        for key in ("open", "reveal"):
            actions[key].setEnabled(made)

    def _update_adding(self, *_: object) -> None:
        if self.page is None:
            return
        titles = {style.key: style.title for style in self._session.library.styles}
        keys = [key for key in self._settings().queue_styles.split("\n") if key in titles]
        self.page.adding.show_styles([titles[key] for key in keys] or [self._look()])
        self.page.adding.show_output(self._output())
        self.page.adding.show_watched(self.watching.folder)

    def _update_stream(self, *_: object) -> None:
        """Say whether the stream, which is not to be seen, takes a part of the machine."""
        if self.page is None:
            return
        text = ""
        if self.runner.running and self._session.info is not None and not self._session.still:
            paused = tr("The picture is paused while the queue runs; Space goes on with it")
            goes_on = tr("The picture goes on beside the queue and slows it down; Space pauses it")
            text = paused if self._session.paused else goes_on
        self.page.show_stream(text)

    def _apply_icons(self) -> None:
        if self.page is not None:
            for _ in apply_icons(self._actions, self._theme.tokens, QUEUE_ACTIONS):
                pass
            for name in ("play", "stop"):  # read now, not when the queue starts
                icon(name, self._theme.tokens)
            self._update_actions()

    def _chosen(self) -> list[Row]:
        return [] if self.page is None else self.page.list.chosen()

    # The end

    def may_quit(self) -> bool:
        """Whether the program may quit; while the queue runs it asks first, and a second request
        counts as yes."""
        if self._quit_asked or not self.runner.running:
            return True
        question = tr("The queue is running. Stop it, quit, and go on with it the next time?")
        if self._questions.isVisible() and self._questions.accessibleDescription() == question:
            return True  # asked to close twice; what was made is kept anyway

        def quit_soon(_: str) -> None:
            self._quit_asked = True
            self.runner.stop()

        self._questions.ask(question, tr("&Quit"), quit_soon, no=tr("&Keep running"))
        return False

    def close(self) -> None:
        """Stop the process, and complete what is being written."""
        self._timer.stop()
        self.watching.watch(None)
        self.runner.close()
        self.store.close()


def _left_out(paths: Sequence[Path]) -> str:
    name = printable(paths[0].name)
    if len(paths) == 1:
        return tr(
            "'{name}' is neither a picture nor a film, and was not added to the queue", name=name
        )
    return tr(
        "'{name}' and {n} more are neither pictures nor films, and were not added to the queue",
        name=name,
        n=len(paths) - 1,
    )
