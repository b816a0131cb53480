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
        offered = offer and any(map(has_paintings, ended))
        tip = tr("Show the paintings in the window")
        button = (tr(SHOW), tip, lambda: self.show_all(ended)) if offered else None
        self._notices.show_notice(said, button)

    def show_all(self, rows: Sequence[Row], first: Sequence[Row] = ()) -> None:
        """Show the paintings of all rows, beginning with `first`, then the newest; else a film."""
        made = [row for row in rows if has_paintings(row)]
        made.sort(key=lambda row: (row not in first, row.state.waits, -row.number))
        pictures = [row for row in made if row.kind is not Kind.FILM]
        if pictures:
            self._show_pictures(pictures)
        elif made:
            self.show(made[0])

    def show(self, row: Row) -> None:
        """Show the paintings of a row in the window; another program plays a film."""
        if row.kind is Kind.FILM and row.result and row.state.ended:
            self._entries.open_path(Path(row.result))
        else:
            self._show_pictures([row])

    def _show_pictures(self, rows: Sequence[Row]) -> None:
        manifests = [self._store.queue.manifest(row.number) for row in rows]

        def work() -> list[str]:
            made = [path for each in manifests if each.is_file() for path in _paintings(each)]
            return list(dict.fromkeys(made))

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


def has_paintings(row: Row) -> bool:
    """Return whether a row has results, even for only some of its pictures."""
    return bool(row.result and row.ended_files[0])


def _paintings(manifest: Path) -> list[str]:
    """Return the finished pictures of a job."""
    made = [entry.result for entry in read_manifest(manifest).entries if entry.complete]
    return [path for path in made if likely_kind(Path(path)) != "film"]
