"""Handles drops and pastes: opens or installs the data, or explains why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QImage

from app.errors import Problem
from app.live.session import Session
from app.ui.controllers.drop_parser import DROPPABLE, parse_drop
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.style_installer import StyleInstaller
from app.ui.window_context import WindowContext
from utils.translation.joints import sentences
from utils.translation.texts import tr

Otherwise = Callable[[], object] | None


class DropHandler:
    """Handles drags over the window.

    Args:
        ask_many: Asks how to use several files. Its second argument opens the pictures among
            them as a strip, or is None.

    Attributes:
        open_spec: Opens a dropped source, or calls its second argument if it cannot; the
            session's `open` by default.
    """

    def __init__(
        self,
        context: WindowContext,
        opener: SourceOpener,
        installer: StyleInstaller,
        ask_many: Callable[[Sequence[Path], Callable[[], object] | None], object],
    ) -> None:
        self._session, self._viewport = context.session, context.viewport
        self._ask_many = ask_many
        self._opener, self._installer = opener, installer
        self.open_spec: Callable[[str | list[str], Otherwise], object] = context.session.open

    def enter(self, event: QDragEnterEvent) -> None:
        drop = parse_drop(event.mimeData())
        self._viewport.show_drop_hint(drop.title, drop.detail, accepted=drop.accepted)
        answer_drag(event, accepted=drop.accepted)

    def leave(self) -> None:
        self._viewport.hide_drop_hint()

    def drop(self, event: QDropEvent) -> None:
        self._viewport.hide_drop_hint()
        accept_as_copy(event)
        self._open(event.mimeData(), picture_in(event.mimeData()))

    def paste(self) -> None:
        take_clipboard(self._session, self._open)

    def _open(self, data: QMimeData, image: QImage) -> None:
        drop = parse_drop(data)
        held = drop.image and not image.isNull()
        if drop.weights is not None:
            self._installer.ask_install(drop.weights)
        elif drop.styles:
            self._session.user_styles.install_all(drop.styles)
        elif drop.queue:
            spec = drop.spec
            strip = None if spec is None else lambda: self._session.open(spec)
            self._ask_many(drop.queue, strip)
        elif drop.spec is not None:
            self.open_spec(drop.spec, (lambda: self._opener.open_image(image)) if held else None)
        elif held:
            self._opener.open_image(image)
        elif drop.image:  # the other program offers a picture but delivers none
            self._session.problem.emit(nothing_to_paste())
        else:
            problem = Problem(sentences(drop.title, drop.detail), advice=drop_advice())
            self._session.problem.emit(problem)


def drop_advice() -> str:
    """Return a sentence that lists what can be dropped."""
    return tr("{droppable} can be dropped or pasted.", droppable=tr(DROPPABLE))


def nothing_to_paste() -> Problem:
    return Problem(
        tr("There is nothing on the clipboard to paste"),
        advice=tr("Copy a picture, a file or an address in another program first."),
    )


def take_clipboard(session: Session, take: Callable[[QMimeData, QImage], object]) -> None:
    """Take the clipboard's data and picture, or report that there is nothing to paste."""
    clipboard = QGuiApplication.clipboard()
    data = clipboard.mimeData() or QMimeData()  # None for an empty clipboard
    if data.hasImage() or data.hasUrls() or data.hasText():
        take(data, clipboard.image())
    else:
        session.problem.emit(nothing_to_paste())


def picture_in(data: QMimeData) -> QImage:
    """Return the picture in dropped data; null without one."""
    image = data.imageData() if data.hasImage() else None
    return image if isinstance(image, QImage) else QImage()


def answer_drag(event: QDragEnterEvent, *, accepted: bool) -> None:
    """Accept a drag as a copy, or for nothing, to receive its leave and drop events."""
    if accepted:
        accept_as_copy(event)
    else:
        event.setDropAction(Qt.DropAction.IgnoreAction)
        event.accept()


def accept_as_copy(event: QDropEvent) -> None:
    """Accept a drag or drop as a copy, never as a move.

    A file manager deletes a moved file. If the source offers only a move, it learns that nothing
    was done.
    """
    copy, nothing = Qt.DropAction.CopyAction, Qt.DropAction.IgnoreAction
    event.setDropAction(copy if event.possibleActions() & copy else nothing)
    event.accept()
