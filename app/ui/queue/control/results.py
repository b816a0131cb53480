"""Shows what the queue made: in the window, or in the file manager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QStackedWidget

from app.batch.manifest import read_manifest
from app.batch.queue.description import Kind
from app.live.session import Session
from app.ui.queue.control.entries import QueueEntries
from app.ui.queue.result_page import ResultPage
from app.ui.queue.rows import Row
from app.ui.queue.store import QueueStore
from app.ui.widgets.toasts import NoticeToast
from utils.images.moving import likely_kind
from utils.translation.texts import mark, tr

SHOW = mark("&Show the pictures")
NO_RESULTS = mark("This entry has no painting yet")


class QueueResults:
    """Owns the page of results, created when first needed.

    Args:
        begun: Called with that page before it is shown.
        left: Called when the user leaves it.
    """

    def __init__(
        self,
        session: Session,
        notices: NoticeToast,
        store: QueueStore,
        entries: QueueEntries,
        pages: QStackedWidget,
        begun: Callable[[ResultPage], object],
        left: Callable[[], object],
    ) -> None:
        self._session, self._notices, self._store = session, notices, store
        self._entries, self._pages = entries, pages
        self._begun, self._left = begun, left
        self.page: ResultPage | None = None

    @property
    def shown(self) -> bool:
        return self.page is not None and self._pages.currentWidget() is self.page

    def say_end(self, said: str, ended: Sequence[Row], *, offer: bool) -> None:
        """Tell that rows have ended; with `offer`, a button shows their paintings."""
        row = newest_row(ended) if offer else None
        tip = tr("Show the newest paintings in the window")
        button = (tr(SHOW), tip, lambda: self.show(row)) if row else None
        self._notices.show_notice(said, button)

    def show_newest(self, rows: Sequence[Row]) -> None:
        """Show the newest paintings."""
        if row := newest_row(rows):
            self.show(row)

    def show(self, row: Row) -> None:
        """Show the paintings of a row in the window; another program plays a film."""
        if row.kind is Kind.FILM and row.result and row.state.ended:
            self._entries.open_path(Path(row.result))
            return
        manifest = self._store.queue.manifest(row.number)

        def work() -> list[str]:
            if not manifest.is_file():
                return []
            made = [entry.result for entry in read_manifest(manifest).entries if entry.complete]
            return [path for path in made if likely_kind(Path(path)) != "film"]

        self._session.run(work, self.show_files, failure="Could not read the results")

    def show_files(self, paths: Sequence[str]) -> None:
        """Show pictures in the window; without any, tell that there are none."""
        if not paths:
            self._session.notice.emit(tr(NO_RESULTS))
            return
        if self.page is None:
            self.page = ResultPage(self._session.run, self._pages)
            self.page.left.connect(lambda: self._left())
            self.page.revealed.connect(lambda path: self._entries.open_path(Path(path).parent))
            self._begun(self.page)
            self._pages.addWidget(self.page)
        self._pages.setCurrentWidget(self.page)
        self._pages.setFocusProxy(self.page)
        self.page.show_results(paths)
        self.page.setFocus()


def newest_row(rows: Sequence[Row]) -> Row | None:
    """Return the row of pictures with results that was added last, a finished one if there is one.

    Without pictures, it is the newest film.
    """

    def rank(row: Row) -> tuple[bool, bool, int]:
        return row.kind is not Kind.FILM, not row.state.waits, row.number

    made = [row for row in rows if row.result and row.ended_files[0]]
    return max(made, key=rank, default=None)
